"""The two groups of staff: what each may open in the admin. Whose rows, memberships say."""

from django.db import migrations

VIEW, CHANGE, ALL = ("view",), ("view", "change"), ("view", "add", "change", "delete")
AGENTS = {
    "accounts.apikey": ("view", "add", "change"),
    "chatbots.chatbot": CHANGE,
    "chatbots.appearance": CHANGE,
    "chatbots.generalsettings": CHANGE,
    "chatbots.leadsettings": ("view", "add", "change"),
    "chatbots.localization": ALL,
    "chatbots.instruction": ALL,
    "chatbots.persona": ALL,
    "chatbots.followupprompt": ALL,
    "chatbots.conversationstarter": ALL,
    "webhooks.endpoint": ("view", "add", "change"),
    "webhooks.delivery": CHANGE,
    "conversations.visitor": VIEW,
    "conversations.thread": CHANGE,
    "conversations.lead": VIEW,
}
ACCOUNT_ADMINS = AGENTS | {
    "accounts.account": CHANGE,
    "accounts.membership": ALL,
    "accounts.user": VIEW,
    "accounts.usage": VIEW,
    "accounts.mail": VIEW,
    "chatbots.chatbot": ("view", "add", "change"),
    "chatbots.chatbotmember": ALL,
}
GROUPS = {"Agents": AGENTS, "Account admins": ACCOUNT_ADMINS}


def make_groups(apps, schema_editor):
    """Make the groups with their permissions, which Django itself makes only after all migrations."""
    ContentType = apps.get_model("contenttypes", "ContentType")
    Permission = apps.get_model("auth", "Permission")
    Group = apps.get_model("auth", "Group")
    for name, models in GROUPS.items():
        group, _ = Group.objects.get_or_create(name=name)
        for label, actions in models.items():
            app, model = label.split(".")
            kind, _ = ContentType.objects.get_or_create(app_label=app, model=model)
            for action in actions:
                permission, _ = Permission.objects.get_or_create(
                    content_type=kind,
                    codename=f"{action}_{model}",
                    defaults={"name": f"Can {action} {model}"},
                )
                group.permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(make_groups, migrations.RunPython.noop)]
