"""The documented plans. Their quotas are empty: unlimited until staff set them."""

from django.db import migrations

PLANS = [("Starter", 600, 150, False), ("Growth", 3_000, 750, False), ("Scale", 12_000, 3_000, True)]


def add_plans(apps, schema_editor):
    plan = apps.get_model("accounts", "Plan")
    for name, messages, replies, webhooks in PLANS:
        plan.objects.get_or_create(
            name=name,
            defaults={
                "messages_per_minute": messages,
                "ai_replies_per_minute": replies,
                "webhooks_by_default": webhooks,
            },
        )


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_groups")]
    operations = [migrations.RunPython(add_plans, migrations.RunPython.noop)]
