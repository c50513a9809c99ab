"""The built-in model: a bot answers from the first start, without a network."""

from django.db import migrations


def add_offline_model(apps, schema_editor):
    model = apps.get_model("chatbots", "LlmModel")
    model.objects.get_or_create(
        provider="offline", defaults={"title": "Offline demo model", "is_default": True}
    )


class Migration(migrations.Migration):
    dependencies = [("chatbots", "0001_initial")]
    operations = [migrations.RunPython(add_offline_model, migrations.RunPython.noop)]
