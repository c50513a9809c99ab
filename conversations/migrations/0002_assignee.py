from django.db import migrations


class Migration(migrations.Migration):
    """Rename `last_agent`. Threads that an agent has answered are assigned to that agent.

    On SQLite, RenameField would build the table anew, which its triggers do not survive.
    """

    dependencies = [('conversations', '0001_initial')]

    operations = [
        migrations.RemoveIndex('thread', 'thread_of_agent'),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    'ALTER TABLE conversations_thread RENAME COLUMN last_agent_id TO assignee_id',
                    'ALTER TABLE conversations_thread RENAME COLUMN assignee_id TO last_agent_id',
                )
            ],
            state_operations=[migrations.RenameField('thread', 'last_agent', 'assignee')],
        ),
    ]
