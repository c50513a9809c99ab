"""Store the number of each chatbot's threads, and index which models messages refer to.

The triggers that keep the numbers go with the table of threads: on SQLite a later migration that
rebuilds this table drops them, and must run `create_triggers` again.
"""

import django.db.models.deletion
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


def count_threads(apps, schema_editor):
    """Count the threads there are; none is inserted meanwhile, for the triggers are new."""
    schema_editor.execute(
        "INSERT INTO conversations_threadcount (chatbot_id, threads) "
        "SELECT chatbot_id, count(*) FROM conversations_thread GROUP BY chatbot_id"
    )


def forget_anonymous(apps, schema_editor):
    """Let the contact decide from now on: whether a caller said so was not stored."""
    apps.get_model("conversations", "Thread").objects.filter(anonymous=True).update(anonymous=None)


def remember_anonymous(apps, schema_editor):
    """Write what None means, as far as the older version knows it."""
    threads = apps.get_model("conversations", "Thread").objects.filter(anonymous=None)
    threads.filter(visitor__email="", visitor__phone="").update(anonymous=True)
    threads.update(anonymous=False)


class Migration(migrations.Migration):

    dependencies = [
        ('chatbots', '0004_models_in_use'),
        ('conversations', '0003_fallback_reason'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ThreadCount',
            fields=[
                ('chatbot', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='chatbots.chatbot')),
                ('threads', models.IntegerField()),
            ],
        ),
        migrations.AlterField(
            model_name='draft',
            name='llm_model',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='chatbots.llmmodel'),
        ),
        migrations.AlterField(
            model_name='message',
            name='llm_model',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='chatbots.llmmodel'),
        ),
        migrations.AlterField(
            model_name='thread',
            name='anonymous',
            field=models.BooleanField(null=True),
        ),
        migrations.RunPython(create_triggers, drop_triggers),
        migrations.RunPython(count_threads, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('llm_model__isnull', False)), fields=['llm_model'], name='message_llm_model'),
        ),
        migrations.RunPython(forget_anonymous, remember_anonymous),
    ]
