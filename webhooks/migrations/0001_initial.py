"""The tables of webhooks."""

import config.database.ids
import django.db.models.deletion
import webhooks.models.delivery
import webhooks.models.endpoint
import webhooks.payloads
from django.db import migrations, models


# PostgreSQL only: the order of deliveries, and more frequent vacuuming, because rows change often.
SERVER = (
    "CREATE SEQUENCE webhooks_delivery_position",
    "ALTER TABLE webhooks_delivery SET (autovacuum_vacuum_scale_factor = 0.01,"
    " autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.02)",
    "ALTER TABLE webhooks_attempt SET (autovacuum_vacuum_scale_factor = 0.02,"
    " autovacuum_vacuum_threshold = 2000)",
    "ALTER TABLE webhooks_endpoint SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,"
    " autovacuum_vacuum_threshold = 500)",
)


def prepare_server(apps, schema_editor):
    """Create what only PostgreSQL has or needs."""
    if schema_editor.connection.vendor == "postgresql":
        for statement in SERVER:
            schema_editor.execute(statement)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('chatbots', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('thread_id', models.UUIDField(null=True)),
                ('message_id', models.UUIDField(null=True)),
                ('event', models.CharField(choices=webhooks.payloads.event_choices, max_length=30)),
                ('body', models.BinaryField()),
                ('is_test', models.BooleanField(default=False)),
                ('state', models.CharField(choices=[('PENDING', 'Pending'), ('RETRYING', 'Retrying'), ('SUCCESS', 'Success'), ('FAILED', 'Failed')], default='PENDING', max_length=10)),
                ('attempts_count', models.PositiveIntegerField(default=0)),
                ('interruptions', models.PositiveIntegerField(default=0)),
                ('last_code', models.PositiveIntegerField(null=True)),
                ('last_ms', models.PositiveIntegerField(null=True)),
                ('last_reason', models.CharField(blank=True, max_length=30)),
                ('last_detail', models.CharField(blank=True, max_length=200)),
                ('due_at', models.DateTimeField(null=True)),
                ('claim', models.UUIDField(null=True)),
                ('claimed_by', models.CharField(blank=True, max_length=64)),
                ('claimed_until', models.DateTimeField(null=True)),
                ('retried_by', models.CharField(blank=True, max_length=255)),
                ('position', webhooks.models.delivery.PositionField(editable=False)),
                ('first_of', models.GeneratedField(db_persist=True, expression=models.Case(models.When(models.Q(('claim__isnull', True), ('due_at__isnull', False), ('state', 'PENDING')), then=models.F('chatbot'))), output_field=models.UUIDField(null=True))),
                ('again_of', models.GeneratedField(db_persist=True, expression=models.Case(models.When(models.Q(('claim__isnull', True), ('due_at__isnull', False), ('state', 'RETRYING')), then=models.F('chatbot'))), output_field=models.UUIDField(null=True))),
                ('manual_of', models.GeneratedField(db_persist=True, expression=models.Case(models.When(models.Q(('claim__isnull', True), ('due_at__isnull', False), ('state', 'FAILED')), then=models.F('chatbot'))), output_field=models.UUIDField(null=True))),
                ('running_of', models.GeneratedField(db_persist=True, expression=models.Case(models.When(models.Q(('claim__isnull', False)), then=models.F('chatbot'))), output_field=models.UUIDField(null=True))),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='accounts.account')),
                ('chatbot', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='chatbots.chatbot')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
            },
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('status', models.CharField(choices=[('PENDING', 'Pending'), ('RETRYING', 'Retrying'), ('SUCCESS', 'Success'), ('FAILED', 'Failed')], default='PENDING', max_length=10)),
                ('interrupted', models.BooleanField(default=False)),
                ('repeated', models.BooleanField(default=False)),
                ('by', models.CharField(blank=True, max_length=255)),
                ('url', models.CharField(blank=True, max_length=2048, verbose_name='URL')),
                ('signature', models.CharField(blank=True, max_length=100)),
                ('response_code', models.PositiveIntegerField(null=True)),
                ('response_ms', models.PositiveIntegerField(null=True, verbose_name='response time (ms)')),
                ('reason', models.CharField(blank=True, max_length=30)),
                ('detail', models.CharField(blank=True, max_length=200)),
                ('response_headers', models.JSONField(default=dict)),
                ('response_body', models.BinaryField(default=bytes)),
                ('started_at', models.DateTimeField()),
                ('finished_at', models.DateTimeField(null=True)),
                ('delivery', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='webhooks.delivery')),
            ],
            options={
                'ordering': ['started_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='Endpoint',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('url', models.CharField(max_length=2048, verbose_name='URL')),
                ('sealed_secret', models.TextField(editable=False)),
                ('masked_secret', models.CharField(editable=False, max_length=20, verbose_name='secret')),
                ('secret_made_at', models.DateTimeField(editable=False)),
                ('events', models.JSONField(default=webhooks.models.endpoint.all_events)),
                ('is_active', models.BooleanField(default=True)),
                ('last_success_at', models.DateTimeField(editable=False, null=True)),
                ('failing_since', models.DateTimeField(editable=False, null=True)),
                ('last_failure_at', models.DateTimeField(editable=False, null=True)),
                ('failures_in_a_row', models.PositiveIntegerField(default=0, editable=False)),
                ('timed_out', models.BooleanField(default=False, editable=False)),
                ('attempts_limit', models.PositiveIntegerField(default=2, editable=False)),
                ('owner_told_at', models.DateTimeField(editable=False, null=True)),
                ('chatbot', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='endpoint', to='chatbots.chatbot')),
            ],
            options={
                'ordering': ['chatbot'],
            },
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('first_of__isnull', False)), fields=['first_of', 'position'], name='delivery_first'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('again_of__isnull', False)), fields=['again_of', 'due_at', 'position'], name='delivery_again'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('manual_of__isnull', False)), fields=['manual_of', 'due_at', 'position'], name='delivery_manual'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('running_of__isnull', False)), fields=['running_of', 'thread_id'], name='delivery_running'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('claim__isnull', True), ('due_at__isnull', False), models.Q(('state', 'PENDING'), _negated=True)), fields=['due_at', 'id'], name='delivery_due'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('claim__isnull', False)), fields=['claimed_by'], name='delivery_claimed'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['-created_at', '-id'], name='delivery_newest'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['chatbot', '-created_at', '-id'], name='delivery_of_chatbot'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['state', '-created_at', '-id'], name='delivery_by_state'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['thread_id', 'id'], name='delivery_of_thread'),
        ),
        migrations.AddIndex(
            model_name='attempt',
            index=models.Index(fields=['delivery', 'started_at', 'id'], name='attempt_order'),
        ),
        migrations.RunPython(prepare_server, migrations.RunPython.noop),
    ]
