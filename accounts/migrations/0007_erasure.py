"""Mails know their conversation, and account admins may delete what they manage."""

from django.db import migrations, models

MODELS = ("chatbots.chatbot", "conversations.thread", "conversations.visitor", "conversations.lead")


def allow_deleting(apps, schema_editor):
    """Add the permissions to the group; Django itself makes permissions after all migrations."""
    ContentType = apps.get_model("contenttypes", "ContentType")
    Permission = apps.get_model("auth", "Permission")
    Group = apps.get_model("auth", "Group")
    group, _ = Group.objects.get_or_create(name="Account admins")
    for label in MODELS:
        app, model = label.split(".")
        kind, _ = ContentType.objects.get_or_create(app_label=app, model=model)
        permission, _ = Permission.objects.get_or_create(
            content_type=kind,
            codename=f"delete_{model}",
            defaults={"name": f"Can delete {model}"},
        )
        group.permissions.add(permission)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0006_bound_stored_answers'),
    ]

    operations = [
        migrations.RunPython(allow_deleting, migrations.RunPython.noop),
        migrations.AddField(
            model_name='mail',
            name='thread_id',
            field=models.UUIDField(editable=False, null=True),
        ),
        migrations.AddIndex(
            model_name='mail',
            index=models.Index(condition=models.Q(('thread_id__isnull', False)), fields=['thread_id'], name='mail_of_thread'),
        ),
    ]
