"""The conversation tables, the triggers that count each chatbot's threads, and the search indexes.

Dropping a table drops its triggers. On SQLite, a later migration that rebuilds a table must create
the table's triggers again.
"""

import uuid

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


# Indexes of the words in messages, in the names and email addresses of visitors, and in tags. Each
# entry also has a word that identifies its chatbot, so that a search reads only the entries of the
# chatbots that the user may see. This word begins with "bot:" on PostgreSQL and with U+E000 on
# SQLite. No word in a text begins with either prefix. The statements in
# conversations/services/search.py read the indexes.
POSTGRESQL_SEARCH = (
    # Words are letters and digits, without accents, as SQLite's tokenizer sees them. PostgreSQL's
    # parser would keep an email address, a file name or 12.50 in one piece.
    r"""
    CREATE FUNCTION conversations_words(said text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT to_tsvector('simple', translate(
            normalize(regexp_replace(normalize(said, NFD), '[\u0300-\u036f]', '', 'g'), NFC),
            '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32)
        ))
    $$
    """,
    "ALTER TABLE conversations_message ADD COLUMN words tsvector",
    """
    CREATE FUNCTION conversations_index_words() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.words := strip(conversations_words(NEW.content)) || array_to_tsvector(ARRAY[(
            SELECT 'bot:' || replace(chatbot_id::text, '-', '')
            FROM conversations_thread WHERE id = NEW.thread_id
        )]);
        RETURN NEW;
    END $$
    """,
    """
    CREATE TRIGGER conversations_message_words BEFORE INSERT OR UPDATE OF content
    ON conversations_message FOR EACH ROW WHEN (NEW.message_type <> 'SYSTEM_MESSAGE')
    EXECUTE FUNCTION conversations_index_words()
    """,
    "CREATE INDEX message_words ON conversations_message USING gin (words)",
    """
    CREATE INDEX visitor_words ON conversations_visitor USING gin ((
        conversations_words(name || ' ' || email)
        || array_to_tsvector(ARRAY['bot:' || replace(chatbot_id::text, '-', '')])
    )) WHERE name <> '' OR email <> ''
    """,
    """
    CREATE INDEX thread_tag_words ON conversations_thread USING gin ((
        conversations_words(tags::text)
        || array_to_tsvector(ARRAY['bot:' || replace(chatbot_id::text, '-', '')])
    )) WHERE tags <> '[]'
    """,
)
FTS5 = "fts5(words, detail=none, columnsize=0, tokenize='unicode61 remove_diacritics 2')"
SQLITE_SEARCH = (
    f"CREATE VIRTUAL TABLE conversations_message_words USING {FTS5}",
    f"CREATE VIRTUAL TABLE conversations_visitor_words USING {FTS5}",
    f"CREATE VIRTUAL TABLE conversations_tag_words USING {FTS5}",
    """
    CREATE TRIGGER conversations_message_words_added AFTER INSERT ON conversations_message
    WHEN NEW.message_type <> 'SYSTEM_MESSAGE' BEGIN
        INSERT INTO conversations_message_words (rowid, words) SELECT NEW.rowid,
        char(57344) || chatbot_id || ' ' || replace(NEW.content, char(57344), ' ')
        FROM conversations_thread WHERE id = NEW.thread_id;
    END
    """,
    """
    CREATE TRIGGER conversations_message_words_deleted AFTER DELETE ON conversations_message
    BEGIN
        DELETE FROM conversations_message_words WHERE rowid = OLD.rowid;
    END
    """,
    """
    CREATE TRIGGER conversations_message_words_changed AFTER UPDATE OF content
    ON conversations_message BEGIN
        DELETE FROM conversations_message_words WHERE rowid = OLD.rowid;
        INSERT INTO conversations_message_words (rowid, words) SELECT NEW.rowid,
        char(57344) || chatbot_id || ' ' || replace(NEW.content, char(57344), ' ')
        FROM conversations_thread WHERE id = NEW.thread_id
        AND NEW.message_type <> 'SYSTEM_MESSAGE';
    END
    """,
    """
    CREATE TRIGGER conversations_visitor_words_added AFTER INSERT ON conversations_visitor
    WHEN NEW.name <> '' OR NEW.email <> '' BEGIN
        INSERT INTO conversations_visitor_words (rowid, words)
        VALUES (NEW.rowid, char(57344) || NEW.chatbot_id || ' '
            || replace(NEW.name || ' ' || NEW.email, char(57344), ' '));
    END
    """,
    """
    CREATE TRIGGER conversations_visitor_words_deleted AFTER DELETE ON conversations_visitor
    BEGIN
        DELETE FROM conversations_visitor_words WHERE rowid = OLD.rowid;
    END
    """,
    """
    CREATE TRIGGER conversations_visitor_words_changed AFTER UPDATE OF name, email
    ON conversations_visitor WHEN NEW.name <> OLD.name OR NEW.email <> OLD.email BEGIN
        DELETE FROM conversations_visitor_words WHERE rowid = OLD.rowid;
        INSERT INTO conversations_visitor_words (rowid, words) SELECT NEW.rowid,
        char(57344) || NEW.chatbot_id || ' '
            || replace(NEW.name || ' ' || NEW.email, char(57344), ' ')
        WHERE NEW.name <> '' OR NEW.email <> '';
    END
    """,
    """
    CREATE TRIGGER conversations_tag_words_added AFTER INSERT ON conversations_thread
    WHEN NEW.tags <> '[]' BEGIN
        INSERT INTO conversations_tag_words (rowid, words) SELECT NEW.rowid,
        char(57344) || NEW.chatbot_id || ' '
            || replace(group_concat(value, ' '), char(57344), ' ') FROM json_each(NEW.tags);
    END
    """,
    """
    CREATE TRIGGER conversations_tag_words_deleted AFTER DELETE ON conversations_thread
    WHEN OLD.tags <> '[]' BEGIN
        DELETE FROM conversations_tag_words WHERE rowid = OLD.rowid;
    END
    """,
    """
    CREATE TRIGGER conversations_tag_words_changed AFTER UPDATE OF tags ON conversations_thread
    WHEN NEW.tags <> OLD.tags BEGIN
        DELETE FROM conversations_tag_words WHERE rowid = OLD.rowid;
        INSERT INTO conversations_tag_words (rowid, words) SELECT NEW.rowid,
        char(57344) || NEW.chatbot_id || ' '
            || replace(group_concat(value, ' '), char(57344), ' ') FROM json_each(NEW.tags)
        WHERE NEW.tags <> '[]' HAVING count(*) > 0;
    END
    """,
)


def create_triggers(apps, schema_editor):
    sqlite = schema_editor.connection.vendor == "sqlite"
    for statement in (*SQLITE, *SQLITE_SEARCH) if sqlite else (*POSTGRESQL, *POSTGRESQL_SEARCH):
        schema_editor.execute(statement, None)  # no parameters, so "%" is literal


def drop_triggers(apps, schema_editor):
    sqlite = schema_editor.connection.vendor == "sqlite"
    for name in ("added", "deleted"):
        table = "" if sqlite else " ON conversations_thread"
        schema_editor.execute(f"DROP TRIGGER conversations_thread_{name}{table}")
    if sqlite:
        for name in ("message", "visitor", "tag"):
            for when in ("added", "deleted", "changed"):
                schema_editor.execute(f"DROP TRIGGER conversations_{name}_words_{when}")
            schema_editor.execute(f"DROP TABLE conversations_{name}_words")
    else:
        schema_editor.execute("DROP TRIGGER conversations_message_words ON conversations_message")
        schema_editor.execute("DROP INDEX message_words, visitor_words, thread_tag_words")
        schema_editor.execute("ALTER TABLE conversations_message DROP COLUMN words")
        for name in ("add_threads", "subtract_threads", "index_words"):
            schema_editor.execute(f"DROP FUNCTION conversations_{name}()")
        schema_editor.execute("DROP FUNCTION conversations_words(text)")


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
            options={
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('message_type', 'AI_MESSAGE')), fields=('parent_message',), name='one_reply_to_a_message'),
                ],
                'indexes': [
                    models.Index(condition=models.Q(('llm_model__isnull', False)), fields=['llm_model'], name='message_llm_model'),
                ],
            },
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
                ('last_agent', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('waiting_since', models.DateTimeField(editable=False, null=True)),
                ('reminded_at', models.DateTimeField(editable=False, null=True)),
                ('taken_over_at', models.DateTimeField(editable=False, null=True)),
                ('taken_over_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'conversation',
                'default_manager_name': 'objects',
                'indexes': [
                    models.Index(fields=['chatbot', '-updated_at', '-id', 'erased_at'], name='thread_latest'),
                    models.Index(condition=models.Q(('archived', False), ('resolved', False)), fields=['-updated_at', '-id'], name='thread_open'),
                    models.Index(condition=models.Q(('last_agent__isnull', False)), fields=['last_agent', '-updated_at', '-id'], name='thread_of_agent'),
                    models.Index(condition=models.Q(('archived', False), ('resolved', False), ('waiting_since__isnull', False)), fields=['waiting_since', 'id'], name='thread_waiting'),
                    models.Index(condition=models.Q(('archived', False), ('resolved', False), ('waiting_since__isnull', False)), fields=['chatbot', 'waiting_since', 'id'], name='thread_waiting_of_bot'),
                    models.Index(condition=models.Q(('archived', False), ('escalated', True), ('resolved', False)), fields=['-updated_at', '-id'], name='thread_escalated'),
                    models.Index(condition=models.Q(('archived', False), ('escalated', True), ('resolved', False)), fields=['chatbot', '-updated_at', '-id'], name='thread_escalated_of_bot'),
                    models.Index(condition=models.Q(('important', True)), fields=['-updated_at', '-id'], name='thread_important'),
                    models.Index(condition=models.Q(('important', True)), fields=['chatbot', '-updated_at', '-id'], name='thread_important_of_bot'),
                    models.Index(condition=models.Q(('resolved', True)), fields=['-updated_at', '-id'], name='thread_resolved'),
                    models.Index(condition=models.Q(('resolved', True)), fields=['chatbot', '-updated_at', '-id'], name='thread_resolved_of_bot'),
                    models.Index(condition=models.Q(('archived', True)), fields=['-updated_at', '-id'], name='thread_archived'),
                    models.Index(condition=models.Q(('archived', True)), fields=['chatbot', '-updated_at', '-id'], name='thread_archived_of_bot'),
                    models.Index(condition=models.Q(('platform_source__gt', '')), fields=['platform_source', '-updated_at', '-id'], name='thread_platform'),
                    models.Index(condition=models.Q(('platform_source__gt', '')), fields=['chatbot', 'platform_source', '-updated_at', '-id'], name='thread_platform_of_bot'),
                    models.Index(condition=models.Q(('purge_at__isnull', False)), fields=['purge_at'], name='thread_purge'),
                ],
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
            options={
                'indexes': [
                    models.Index(fields=['chatbot', '-captured_at', '-id'], name='lead_newest'),
                ],
            },
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
                'constraints': [
                    models.UniqueConstraint(fields=('chatbot', 'external_id'), name='visitor_known_once'),
                ],
                'indexes': [
                    models.Index(condition=models.Q(('purge_at__isnull', False)), fields=['purge_at'], name='visitor_purge'),
                ],
            },
        ),
        migrations.AddField(
            model_name='thread',
            name='visitor',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='threads', to='conversations.visitor'),
        ),
        migrations.CreateModel(
            name='LedgerCheck',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ('table', models.PositiveSmallIntegerField(default=0)),
                ('after', models.UUIDField(default=uuid.UUID('00000000-0000-0000-0000-000000000000'))),
                ('found', models.JSONField(default=dict)),
                ('gaps', models.JSONField(default=dict)),
                ('finished_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Handoff',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('asked_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('answered_at', models.DateTimeField(null=True)),
                ('resolved_at', models.DateTimeField(null=True)),
                ('came_back_at', models.DateTimeField(null=True)),
                ('chatbot', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chatbots.chatbot')),
                ('thread', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='handoffs', to='conversations.thread')),
            ],
            options={
                'indexes': [models.Index(fields=['chatbot', 'asked_at'], name='handoff_of_bot'), models.Index(fields=['asked_at'], name='handoff_asked')],
            },
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
        migrations.CreateModel(
            name='ReplyOrigin',
            fields=[
                ('message', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='origin', serialize=False, to='conversations.message')),
                ('model_id', models.UUIDField(null=True)),
                ('model_version', models.PositiveIntegerField(default=0)),
                ('settings_id', models.UUIDField()),
                ('settings_version', models.PositiveIntegerField()),
                ('instruction_id', models.UUIDField(null=True)),
                ('instruction_version', models.PositiveIntegerField(default=0)),
                ('personas', models.JSONField(default=list)),
                ('temperature', models.FloatField(null=True)),
                ('history_length', models.PositiveSmallIntegerField()),
                ('input_tokens', models.PositiveIntegerField(null=True)),
                ('output_tokens', models.PositiveIntegerField(null=True)),
                ('failed_before', models.CharField(blank=True, max_length=255)),
            ],
        ),
        migrations.CreateModel(
            name='TokenUsage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model_id', models.UUIDField()),
                ('day', models.DateField()),
                ('replies', models.PositiveIntegerField(default=0)),
                ('input_tokens', models.PositiveBigIntegerField(default=0)),
                ('output_tokens', models.PositiveBigIntegerField(default=0)),
                ('chatbot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='token_usages', to='chatbots.chatbot')),
            ],
            options={
                'verbose_name_plural': 'token usage',
                'indexes': [models.Index(fields=['day'], name='tokens_by_day')],
                'constraints': [models.UniqueConstraint(fields=('chatbot', 'day', 'model_id'), name='tokens_of_one_day')],
            },
        ),
        migrations.CreateModel(
            name='Activity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hours', models.PositiveSmallIntegerField(choices=[(1, 'hour'), (24, 'day')])),
                ('begins_at', models.DateTimeField()),
                ('messages', models.PositiveIntegerField(default=0)),
                ('ai_replies', models.PositiveIntegerField(default=0)),
                ('fallbacks', models.PositiveIntegerField(default=0)),
                ('escalations', models.PositiveIntegerField(default=0)),
                ('answers', models.PositiveIntegerField(default=0)),
                ('answer_seconds', models.PositiveIntegerField(default=0)),
                ('leads', models.PositiveIntegerField(default=0)),
                ('pending', models.PositiveIntegerField(default=0)),
                ('retrying', models.PositiveIntegerField(default=0)),
                ('success', models.PositiveIntegerField(default=0)),
                ('failed', models.PositiveIntegerField(default=0)),
                ('stale_at', models.DateTimeField(null=True)),
                ('deliveries_stale_at', models.DateTimeField(null=True)),
                ('chatbot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='activity', to='chatbots.chatbot')),
            ],
            options={
                'verbose_name_plural': 'activity',
                'indexes': [models.Index(fields=['hours', 'begins_at'], name='activity_by_time'), models.Index(condition=models.Q(('stale_at__isnull', False), ('deliveries_stale_at__isnull', False), _connector='OR'), fields=['begins_at'], name='activity_stale')],
                'constraints': [models.UniqueConstraint(fields=('chatbot', 'hours', 'begins_at'), name='activity_counted_once')],
            },
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(fields=('thread', 'position'), name='message_order'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(condition=models.Q(('form_token__isnull', False)), fields=('thread', 'form_token'), name='answer_sent_once'),
        ),
        migrations.RunPython(create_triggers, drop_triggers),
    ]
