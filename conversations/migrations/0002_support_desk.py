"""Assignees, timelines, canned replies, saved views, and the indexes of the inbox's new views.

The thread's `last_agent` becomes its `assignee`. On SQLite, operations that rebuild a table would
drop its triggers, so the column is renamed in SQL, and the new one is nullable.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import config.database.ids
import config.runtime.context

PERSON = {
    "db_index": False,
    "null": True,
    "on_delete": django.db.models.deletion.SET_NULL,
    "related_name": "+",
    "to": settings.AUTH_USER_MODEL,
}
ID = models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)
OPEN = {"archived": False, "resolved": False}
LATEST = ["-updated_at", "-id"]
VIEWS = {
    "unassigned": models.Q(assignee__isnull=True, escalated=True, **OPEN),
    "unread": models.Q(unread_messages_count__gt=0, **OPEN),
    "bad_answer": models.Q(negative_count__gt=0) | models.Q(fallback_at__isnull=False),
}


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0002_leases"),
        ("conversations", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveIndex("thread", "thread_of_agent"),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE conversations_thread RENAME COLUMN last_agent_id TO assignee_id",
                    "ALTER TABLE conversations_thread RENAME COLUMN assignee_id TO last_agent_id",
                )
            ],
            state_operations=[migrations.RenameField("thread", "last_agent", "assignee")],
        ),
        migrations.AddField("thread", "fallback_at", models.DateTimeField(editable=False, null=True)),
        migrations.CreateModel(
            "TimelineEntry",
            [
                ("id", ID),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("thread", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="timeline", to="conversations.thread")),
                ("position", models.PositiveIntegerField()),
                ("kind", models.CharField(choices=[("NOTE", "Note"), ("ASSIGNED", "Assigned"), ("UNASSIGNED", "Unassigned"), ("RESOLVED", "Resolved"), ("REOPENED", "Reopened")], max_length=10)),
                ("author", models.ForeignKey(**PERSON)),
                ("via", models.CharField(default=config.runtime.context.current_via, max_length=255)),
                ("assignee", models.ForeignKey(**PERSON)),
                ("text", models.TextField(blank=True, max_length=65535)),
            ],
            {
                "verbose_name": "timeline entry",
                "verbose_name_plural": "timeline entries",
                "indexes": [models.Index(fields=["thread", "position", "id"], name="timeline_of_thread")],
            },
        ),
        migrations.CreateModel(
            "CannedReply",
            [
                ("id", ID),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("account", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="canned_replies", to="accounts.account")),
                ("name", models.SlugField(help_text="What agents type after “/”, such as refund")),
                ("text", models.TextField(help_text="{visitor}, {agent} and {bot} stand for the names of the visitor, the agent and the chatbot. An unknown name is left out.", max_length=5000)),
            ],
            {
                "verbose_name": "canned reply",
                "verbose_name_plural": "canned replies",
                "ordering": ["name", "id"],
                "constraints": [models.UniqueConstraint(fields=["account", "name"], name="canned_reply_name", violation_error_message="the account already has a canned reply with this name")],
            },
        ),
        migrations.CreateModel(
            "SavedView",
            [
                ("id", ID),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("owner", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="saved_views", to=settings.AUTH_USER_MODEL)),
                ("account", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="saved_views", to="accounts.account")),
                ("name", models.CharField(max_length=50)),
                ("query", models.TextField(max_length=2000)),
            ],
            {
                "verbose_name": "saved view",
                "constraints": [models.UniqueConstraint(fields=["owner", "name"], name="saved_view_name")],
            },
        ),
        migrations.AddIndex("thread", models.Index(condition=models.Q(assignee__isnull=False), fields=["assignee", *LATEST], name="thread_of_assignee")),
        migrations.AddIndex("thread", models.Index(condition=models.Q(assignee__isnull=False, **OPEN), fields=["assignee", *LATEST], name="thread_open_of_assignee")),
        *(
            migrations.AddIndex("thread", models.Index(condition=condition, fields=[*scope, *LATEST], name=f"thread_{view}{'_of_bot' if scope else ''}"))
            for view, condition in VIEWS.items()
            for scope in ([], ["chatbot"])
        ),
        migrations.RunSQL(
            "UPDATE conversations_thread SET fallback_at = ("
            " SELECT max(created_at) FROM conversations_message"
            " WHERE thread_id = conversations_thread.id AND fallback_reason IS NOT NULL"
            ") WHERE id IN ("
            " SELECT thread_id FROM conversations_message WHERE fallback_reason IS NOT NULL"
            ")",
            migrations.RunSQL.noop,
        ),
    ]
