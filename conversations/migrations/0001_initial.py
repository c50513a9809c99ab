"""The tables of conversations, and the triggers that count each chatbot's threads.

The triggers go with the table of threads: on SQLite a later migration that rebuilds this table
drops them, and must run `create_triggers` again.
"""

import config.database.ids
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


POSTGRESQL = (
    """
    CREATE FUNCTION conversations_add_threads() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO conversations_threadcount AS counted (chatbot_id, threads)
        SELECT chatbot_id, count(*) FROM changed GROUP BY chatbot_id ORDER BY chatbot_id
        ON CONFLICT (chatbot_id) DO UPDATE SET threads = counted.threads + excluded.threads;
        RETURN NULL;
    END $$
    """,
    """
    CREATE FUNCTION conversations_subtract_threads() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE conversations_threadcount AS counted SET threads = counted.threads - deleted.threads
        FROM (SELECT chatbot_id, count(*) AS threads FROM changed GROUP BY chatbot_id) AS deleted
        WHERE counted.chatbot_id = deleted.chatbot_id;
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER conversations_thread_added AFTER INSERT ON conversations_thread
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION conversations_add_threads()
    """,
    """
    CREATE TRIGGER conversations_thread_deleted AFTER DELETE ON conversations_thread
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION conversations_subtract_threads()
    """,
)
SQLITE = (
    """
    CREATE TRIGGER conversations_thread_added AFTER INSERT ON conversations_thread
    BEGIN
        INSERT INTO conversations_threadcount (chatbot_id, threads) VALUES (NEW.chatbot_id, 1)
        ON CONFLICT (chatbot_id) DO UPDATE SET threads = threads + 1;
    END
    """,
    """
    CREATE TRIGGER conversations_thread_deleted AFTER DELETE ON conversations_thread
    BEGIN
        UPDATE conversations_threadcount SET threads = threads - 1
        WHERE chatbot_id = OLD.chatbot_id;
    END
    """,
)


def create_triggers(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)


def drop_triggers(apps, schema_editor):
    sqlite = schema_editor.connection.vendor == "sqlite"
    for name in ("added", "deleted"):
        table = "" if sqlite else " ON conversations_thread"
        schema_editor.execute(f"DROP TRIGGER conversations_thread_{name}{table}")
    if not sqlite:
        for name in ("add", "subtract"):
            schema_editor.execute(f"DROP FUNCTION conversations_{name}_threads()")


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('chatbots', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('position', models.PositiveIntegerField()),
                ('message_type', models.CharField(choices=[('USER_MESSAGE', 'User Message'), ('AI_MESSAGE', 'Ai Message'), ('AGENT_MESSAGE', 'Agent Message'), ('SYSTEM_MESSAGE', 'System Message')], max_length=20)),
                ('system_message_type', models.CharField(choices=[('CONVERSATION_ESCALATED', 'Conversation Escalated'), ('CONVERSATION_RETURNED_TO_AI', 'Conversation Returned To Ai')], max_length=40, null=True)),
                ('content', models.TextField(max_length=65535)),
                ('agent_name', models.CharField(max_length=255, null=True)),
                ('reply_ms', models.PositiveIntegerField(null=True)),
                ('fallback_reason', models.CharField(max_length=255, null=True)),
                ('reaction', models.CharField(max_length=255, null=True)),
                ('form_token', models.UUIDField(editable=False, null=True)),
                ('source', models.JSONField(default=list)),
                ('is_edited', models.BooleanField(default=False)),
                ('edited_by', models.CharField(max_length=255, null=True)),
                ('edited_at', models.DateTimeField(null=True)),
                ('agent', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('llm_model', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='chatbots.llmmodel')),
                ('parent_message', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='replies', to='conversations.message')),
            ],
        ),
        migrations.CreateModel(
            name='ThreadCount',
            fields=[
                ('chatbot', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='chatbots.chatbot')),
                ('threads', models.IntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='Draft',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('content', models.TextField()),
                ('source', models.JSONField(default=list)),
                ('reply_ms', models.PositiveIntegerField(null=True)),
                ('llm_model', models.ForeignKey(null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='chatbots.llmmodel')),
                ('message', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='draft', to='conversations.message')),
            ],
            options={
                'ordering': ['created_at'],
            },
        ),
        migrations.CreateModel(
            name='Thread',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('erased_at', models.DateTimeField(editable=False, null=True)),
                ('purge_at', models.DateTimeField(editable=False, null=True)),
                ('title', models.CharField(blank=True, max_length=255)),
                ('anonymous', models.BooleanField(null=True)),
                ('escalated', models.BooleanField(default=False)),
                ('important', models.BooleanField(default=False)),
                ('resolved', models.BooleanField(default=False)),
                ('archived', models.BooleanField(default=False)),
                ('unread_messages_count', models.PositiveIntegerField(default=0)),
                ('positive_count', models.PositiveIntegerField(default=0)),
                ('negative_count', models.PositiveIntegerField(default=0)),
                ('tags', models.JSONField(blank=True, default=list)),
                ('internal_notes', models.TextField(blank=True, max_length=65535)),
                ('platform_source', models.CharField(blank=True, max_length=255)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('last_position', models.PositiveIntegerField(default=0)),
                ('visitor_messages_count', models.PositiveIntegerField(default=0)),
                ('chatbot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='threads', to='chatbots.chatbot')),
                ('taken_over_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'default_manager_name': 'objects',
            },
        ),
        migrations.AddField(
            model_name='message',
            name='thread',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='conversations.thread'),
        ),
        migrations.CreateModel(
            name='Lead',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('name', models.CharField(blank=True, max_length=255)),
                ('email', models.CharField(blank=True, max_length=255)),
                ('phone', models.CharField(blank=True, max_length=255)),
                ('captured_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('chatbot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='leads', to='chatbots.chatbot')),
                ('thread', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='lead', to='conversations.thread')),
            ],
        ),
        migrations.CreateModel(
            name='Visitor',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('erased_at', models.DateTimeField(editable=False, null=True)),
                ('purge_at', models.DateTimeField(editable=False, null=True)),
                ('external_id', models.CharField(max_length=255, verbose_name='visitor id')),
                ('name', models.CharField(blank=True, max_length=255)),
                ('email', models.CharField(blank=True, max_length=255)),
                ('phone', models.CharField(blank=True, max_length=255)),
                ('first_seen_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('last_seen_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('total_sessions', models.PositiveIntegerField(default=0)),
                ('total_messages', models.PositiveIntegerField(default=0)),
                ('chatbot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='visitors', to='chatbots.chatbot')),
            ],
            options={
                'default_manager_name': 'objects',
            },
        ),
        migrations.AddField(
            model_name='thread',
            name='visitor',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='threads', to='conversations.visitor'),
        ),
        migrations.CreateModel(
            name='OwedReply',
            fields=[
                ('message', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='owed_reply', serialize=False, to='conversations.message')),
                ('claim', models.UUIDField()),
                ('claimed_by', models.CharField(blank=True, max_length=20)),
                ('claimed_until', models.DateTimeField()),
                ('begun', models.PositiveSmallIntegerField(default=0)),
            ],
            options={
                'verbose_name_plural': 'owed replies',
                'indexes': [models.Index(fields=['claimed_until'], name='owed_reply_lapsed')],
            },
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('llm_model__isnull', False)), fields=['llm_model'], name='message_llm_model'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(fields=('thread', 'position'), name='message_order'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(condition=models.Q(('form_token__isnull', False)), fields=('thread', 'form_token'), name='answer_sent_once'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(condition=models.Q(('message_type', 'AI_MESSAGE')), fields=('parent_message',), name='one_reply_to_a_message'),
        ),
        migrations.AddIndex(
            model_name='lead',
            index=models.Index(fields=['chatbot', '-captured_at', '-id'], name='lead_newest'),
        ),
        migrations.AddIndex(
            model_name='visitor',
            index=models.Index(condition=models.Q(('purge_at__isnull', False)), fields=['purge_at'], name='visitor_purge'),
        ),
        migrations.AddConstraint(
            model_name='visitor',
            constraint=models.UniqueConstraint(fields=('chatbot', 'external_id'), name='visitor_known_once'),
        ),
        migrations.AddIndex(
            model_name='thread',
            index=models.Index(fields=['chatbot', '-updated_at', '-id', 'erased_at'], name='thread_latest'),
        ),
        migrations.AddIndex(
            model_name='thread',
            index=models.Index(fields=['-updated_at', '-id'], name='thread_newest'),
        ),
        migrations.AddIndex(
            model_name='thread',
            index=models.Index(condition=models.Q(('archived', False), ('escalated', True), ('resolved', False)), fields=['updated_at', 'id'], name='thread_escalated_open'),
        ),
        migrations.AddIndex(
            model_name='thread',
            index=models.Index(condition=models.Q(('important', True)), fields=['-updated_at', '-id'], name='thread_important'),
        ),
        migrations.AddIndex(
            model_name='thread',
            index=models.Index(condition=models.Q(('purge_at__isnull', False)), fields=['purge_at'], name='thread_purge'),
        ),
        migrations.RunPython(create_triggers, drop_triggers),
    ]
