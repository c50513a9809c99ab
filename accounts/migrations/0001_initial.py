"""Create the tables for accounts, and add the documented plans and the two staff groups.

Groups decide which admin pages a person can open; memberships decide which rows the pages show.
"""

import accounts.models.membership
import config.database.ids
import config.runtime.context
import accounts.working_hours
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


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
    "webhooks.retryjob": VIEW,
    "conversations.visitor": VIEW,
    "conversations.thread": CHANGE,
    "conversations.lead": VIEW,
}
ACCOUNT_ADMINS = AGENTS | {
    "accounts.account": CHANGE,
    "accounts.membership": ALL,
    "accounts.user": VIEW,
    "accounts.usage": VIEW,
    "accounts.change": VIEW,
    "accounts.mail": VIEW,
    "chatbots.chatbot": ALL,
    "chatbots.chatbotmember": ALL,
    "conversations.visitor": ("view", "delete"),
    "conversations.thread": ("view", "change", "delete"),
    "conversations.lead": ("view", "delete"),
}
GROUPS = {"Agents": AGENTS, "Account admins": ACCOUNT_ADMINS}


def make_groups(apps, schema_editor):
    """Create the groups and their permissions.

    Django would create the permissions only after all migrations.
    """
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


PLANS = [("Starter", 600, 150, False), ("Growth", 3_000, 750, False), ("Scale", 12_000, 3_000, True)]


def add_plans(apps, schema_editor):
    """Add the documented plans. Their quotas are unlimited until a superuser sets them."""
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

    initial = True

    dependencies = [
        ('contenttypes', '0002_remove_content_type_name'),
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='Plan',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('name', models.CharField(max_length=50, unique=True)),
                ('messages_per_minute', models.PositiveIntegerField()),
                ('ai_replies_per_minute', models.PositiveIntegerField(verbose_name='AI replies per minute')),
                ('monthly_messages', models.PositiveIntegerField(blank=True, help_text='Visitor messages per month. Leave empty for no limit.', null=True)),
                ('max_chatbots', models.PositiveIntegerField(blank=True, help_text='Chatbots per account. Leave empty for no limit.', null=True, verbose_name='chatbots')),
                ('webhooks_by_default', models.BooleanField(default=False, help_text='New accounts on this plan have the webhooks add-on')),
            ],
            options={
                'ordering': ['messages_per_minute'],
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('email', models.EmailField(max_length=255, unique=True)),
                ('name', models.CharField(blank=True, max_length=255)),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('is_staff', models.BooleanField(default=False, verbose_name='may use the admin')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'person',
                'verbose_name_plural': 'people',
                'constraints': [
                    models.UniqueConstraint(django.db.models.functions.text.Lower('email'), name='user_email_unique', violation_error_message='a person with this email address already exists'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Account',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('name', models.CharField(max_length=255)),
                ('webhooks_enabled', models.BooleanField(default=None, help_text='Without the add-on, webhooks cannot be set up or sent', verbose_name='webhooks add-on')),
                ('mail_on_escalation', models.BooleanField(default=False, help_text="Email the account's staff when a visitor asks for a person")),
                ('remind_after_minutes', models.PositiveSmallIntegerField(blank=True, help_text='Email the staff again when a visitor has waited this long. Leave empty for no reminder.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='remind after (minutes)')),
                ('return_after_minutes', models.PositiveSmallIntegerField(blank=True, help_text='An answered conversation returns to the AI after this many minutes without activity. Leave empty to turn this off.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='return to the AI after (minutes)')),
                ('working_hours', models.CharField(blank=True, help_text='The hours when reminders are sent, such as Mon-Fri 09:00-17:00, Sat 22:00-06:00 (overnight). Leave empty to send them at any time.', max_length=255, validators=[accounts.working_hours.validate_hours])),
                ('time_zone', models.CharField(default='UTC', help_text='The time zone of the working hours, such as Europe/Berlin', max_length=64, validators=[accounts.working_hours.validate_zone])),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='owned_accounts', to=settings.AUTH_USER_MODEL)),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='accounts', to='accounts.plan')),
            ],
            options={
                'ordering': ['name', 'id'],
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('label', models.CharField(blank=True, max_length=100)),
                ('prefix', models.CharField(editable=False, max_length=20, unique=True)),
                ('digest', models.CharField(editable=False, max_length=64, null=True, unique=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(editable=False, null=True)),
                ('revoked_at', models.DateTimeField(editable=False, null=True)),
                ('replaced_at', models.DateTimeField(editable=False, null=True)),
                ('account', models.ForeignKey(help_text="The only account in which the key works. Leave empty to allow all of the owner's accounts.", null=True, on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to='accounts.account')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'API key',
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('role', models.CharField(choices=[('SUPER_ADMIN', 'SUPER_ADMIN'), ('MEMBER', 'MEMBER')], default='MEMBER', max_length=20)),
                ('permissions', models.JSONField(blank=True, default=list, validators=[accounts.models.membership.known_permissions])),
                ('email', models.EmailField(max_length=255)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='accounts.account')),
            ],
            options={
                'ordering': ['account', 'email'],
                'constraints': [
                    models.UniqueConstraint(models.F('account'), django.db.models.functions.text.Lower('email'), name='invited_to_account_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Mail',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('to', models.EmailField(max_length=255)),
                ('subject', models.CharField(max_length=255)),
                ('body', models.TextField()),
                ('thread_id', models.UUIDField(editable=False, null=True)),
                ('state', models.CharField(choices=[('PENDING', 'Pending'), ('RETRYING', 'Retrying'), ('SENT', 'Sent'), ('FAILED', 'Failed')], default='PENDING', max_length=10)),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now, null=True)),
                ('tries', models.PositiveIntegerField(default=0)),
                ('claim', models.UUIDField(null=True)),
                ('claimed_by', models.CharField(blank=True, max_length=20)),
                ('claimed_until', models.DateTimeField(null=True)),
                ('error', models.CharField(blank=True, max_length=255)),
                ('sent_at', models.DateTimeField(null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mails', to='accounts.account')),
                ('invitation', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='mails', to='accounts.invitation')),
            ],
            options={
                'verbose_name': 'email',
                'ordering': ['-created_at'],
                'indexes': [
                    models.Index(condition=models.Q(('due_at__isnull', False)), fields=['account', 'due_at', 'id'], name='mail_due_by_account'),
                    models.Index(fields=['account', 'created_at'], name='mail_of_an_hour'),
                    models.Index(condition=models.Q(('claimed_by__gt', '')), fields=['claimed_by'], name='mail_claimed'),
                    models.Index(condition=models.Q(('thread_id__isnull', False)), fields=['thread_id'], name='mail_of_thread'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('role', models.CharField(choices=[('SUPER_ADMIN', 'SUPER_ADMIN'), ('MEMBER', 'MEMBER')], default='MEMBER', max_length=20)),
                ('permissions', models.JSONField(blank=True, default=list, validators=[accounts.models.membership.known_permissions])),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='accounts.account')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['account', 'user'],
                'constraints': [
                    models.UniqueConstraint(fields=('account', 'user'), name='one_membership_per_person'),
                    models.CheckConstraint(condition=models.Q(('role__in', ['SUPER_ADMIN', 'MEMBER'])), name='membership_role_known'),
                ],
            },
        ),
        migrations.CreateModel(
            name='StoredAnswer',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=64)),
                ('request_digest', models.CharField(max_length=64)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('body', models.BinaryField(null=True)),
                ('size', models.PositiveIntegerField(null=True)),
                ('claim', models.UUIDField()),
                ('claimed_until', models.DateTimeField()),
                ('created_at', models.DateTimeField(auto_now_add=True, db_index=True)),
                ('thread_id', models.UUIDField(null=True)),
                ('account', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('user', 'name'), name='one_answer_for_a_key'),
                ],
                'indexes': [
                    models.Index(fields=['account', 'created_at', 'size'], name='answers_of_an_account'),
                    models.Index(condition=models.Q(('thread_id__isnull', False)), fields=['thread_id'], name='answer_of_thread'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Usage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('month', models.DateField()),
                ('messages', models.PositiveIntegerField(default=0)),
                ('told', models.PositiveSmallIntegerField(default=0, editable=False)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='usages', to='accounts.account')),
            ],
            options={
                'verbose_name_plural': 'usage',
                'ordering': ['-month'],
                'constraints': [
                    models.UniqueConstraint(fields=('account', 'month'), name='one_usage_per_month'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Change',
            fields=[
                ('object_pk', models.CharField(max_length=255)),
                ('object_repr', models.TextField(verbose_name='object representation')),
                ('action', models.PositiveSmallIntegerField(choices=[(0, 'create'), (1, 'update'), (2, 'delete'), (3, 'access')])),
                ('changes', models.JSONField(null=True, verbose_name='change message')),
                ('cid', models.CharField(blank=True, max_length=255, null=True)),
                ('timestamp', models.DateTimeField(default=django.utils.timezone.now)),
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('via', models.CharField(default=config.runtime.context.current_via, max_length=255)),
                ('account', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account')),
                ('actor', models.ForeignKey(default=config.runtime.context.current_person, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('content_type', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='contenttypes.contenttype', verbose_name='content type')),
            ],
            options={
                'verbose_name': 'change',
                'ordering': ['-timestamp', '-id'],
                'indexes': [models.Index(fields=['account', '-timestamp', '-id'], name='change_of_account'), models.Index(fields=['-timestamp', '-id'], name='change_newest'), models.Index(fields=['object_pk'], name='change_of_row')],
            },
        ),
        migrations.RunPython(make_groups, migrations.RunPython.noop),
        migrations.RunPython(add_plans, migrations.RunPython.noop),
    ]
