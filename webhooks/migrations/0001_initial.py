"""Create the tables for webhooks."""

import datetime
import config.database.ids
import django.db.models.deletion
import webhooks.models.delivery
import webhooks.models.endpoint
import webhooks.payloads
from django.db import migrations, models


# PostgreSQL only: a sequence for the order of deliveries, and storage parameters for tables whose
# rows change often.
SERVER = (
    "CREATE SEQUENCE webhooks_delivery_position",
    "ALTER TABLE webhooks_delivery SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01,"
    " autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.02)",
    "ALTER TABLE webhooks_attempt SET (autovacuum_vacuum_scale_factor = 0.02,"
    " autovacuum_vacuum_threshold = 2000)",
    "ALTER TABLE webhooks_endpoint SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,"
    " autovacuum_vacuum_threshold = 500)",
)


def prepare_server(apps, schema_editor):
    """Run the statements that only PostgreSQL needs."""
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
                ('is_test', models.BooleanField(default=False, verbose_name='tests')),
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
                ('waiting_of', models.GeneratedField(db_persist=True, expression=models.Case(models.When(models.Q(('claim__isnull', True), ('due_at__isnull', False)), then=models.F('chatbot')), default=None), output_field=models.UUIDField(null=True))),
                ('running_of', models.GeneratedField(db_persist=True, expression=models.Case(models.When(models.Q(('claim__isnull', False)), then=models.F('chatbot')), default=None), output_field=models.UUIDField(null=True))),
                ('lane', models.GeneratedField(db_persist=True, expression=models.Case(models.When(state='RETRYING', then=0), models.When(state='PENDING', then=1), default=2), output_field=models.PositiveSmallIntegerField())),
                ('starts_at', models.GeneratedField(db_persist=True, expression=models.Case(models.When(due_at__isnull=False, state='PENDING', then=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)), default=models.F('due_at')), output_field=models.DateTimeField(null=True))),
                ('failed_of', models.GeneratedField(db_persist=True, expression=models.Case(models.When(state='FAILED', then=models.F('chatbot')), default=None), output_field=models.UUIDField(null=True))),
                ('answer_class', models.GeneratedField(db_persist=True, expression=models.Case(models.When(models.Q(('attempts_count__gt', 0), models.Q(('state', 'SUCCESS'), _negated=True), ('last_code__range', (300, 399))), then=3), models.When(models.Q(('attempts_count__gt', 0), models.Q(('state', 'SUCCESS'), _negated=True), ('last_code__range', (400, 499))), then=4), models.When(models.Q(('attempts_count__gt', 0), models.Q(('state', 'SUCCESS'), _negated=True), ('last_code__range', (500, 999))), then=5), models.When(models.Q(('attempts_count__gt', 0), models.Q(('state', 'SUCCESS'), _negated=True), ('last_code', None)), then=0), default=None), output_field=models.SmallIntegerField(null=True))),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='accounts.account')),
                ('chatbot', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='chatbots.chatbot')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'indexes': [
                    models.Index(condition=models.Q(('waiting_of__isnull', False)), fields=['waiting_of', 'lane', 'starts_at', 'position'], name='delivery_waiting'),
                    models.Index(condition=models.Q(('running_of__isnull', False)), fields=['running_of', 'thread_id'], name='delivery_running'),
                    models.Index(condition=models.Q(('due_at__isnull', False), ('running_of__isnull', True)), fields=['starts_at'], name='delivery_due'),
                    models.Index(condition=models.Q(('claimed_by__gt', '')), fields=['claimed_by'], name='delivery_claimed'),
                    models.Index(fields=['-created_at', '-id'], name='delivery_newest'),
                    models.Index(fields=['chatbot', '-created_at', '-id'], name='delivery_of_chatbot'),
                    models.Index(fields=['state', '-created_at', '-id'], name='delivery_by_state'),
                    models.Index(fields=['thread_id', 'id'], name='delivery_of_thread'),
                    models.Index(condition=models.Q(('message_id__isnull', False)), fields=['message_id'], name='delivery_of_message'),
                    models.Index(condition=models.Q(('failed_of__isnull', False)), fields=['failed_of', '-created_at', '-id'], name='delivery_failed'),
                    models.Index(condition=models.Q(('answer_class__isnull', False)), fields=['answer_class', '-created_at', '-id', 'chatbot'], name='delivery_by_class'),
                ],
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
                'indexes': [
                    models.Index(fields=['delivery', 'started_at', 'id'], name='attempt_order'),
                ],
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
                ('secret_made_by', models.CharField(blank=True, editable=False, max_length=255)),
                ('events', models.JSONField(default=webhooks.models.endpoint.all_events)),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('last_success_at', models.DateTimeField(editable=False, null=True)),
                ('failing_since', models.DateTimeField(editable=False, null=True)),
                ('last_failure_at', models.DateTimeField(editable=False, null=True)),
                ('failures_in_a_row', models.PositiveIntegerField(default=0, editable=False)),
                ('timed_out', models.BooleanField(default=False, editable=False)),
                ('attempts_limit', models.FloatField(default=2, editable=False)),
                ('owner_told_at', models.DateTimeField(editable=False, null=True)),
                ('chatbot', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='endpoint', to='chatbots.chatbot')),
            ],
            options={
                'verbose_name': 'webhook',
                'ordering': ['chatbot'],
            },
        ),
        migrations.CreateModel(
            name='RetryJob',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('by', models.CharField(max_length=255, verbose_name='started by')),
                ('filter', models.JSONField()),
                ('per_second', models.PositiveIntegerField(verbose_name='deliveries per second for each endpoint')),
                ('failed_before', models.DateTimeField()),
                ('expected', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('RUNNING', 'Running'), ('STOPPED', 'Stopped'), ('DONE', 'Done')], default='RUNNING', max_length=10)),
                ('stopped_by', models.CharField(blank=True, max_length=255)),
                ('finished_at', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name': 'bulk retry',
                'verbose_name_plural': 'bulk retries',
                'indexes': [
                    models.Index(condition=models.Q(('state', 'RUNNING')), fields=['state'], name='retry_job_running'),
                    models.Index(fields=['-created_at', '-id'], name='retry_job_newest'),
                ],
            },
        ),
        migrations.CreateModel(
            name='RetryPart',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('is_active', models.BooleanField(default=True)),
                ('is_done', models.BooleanField(default=False)),
                ('retried', models.PositiveIntegerField(default=0)),
                ('place_at', models.DateTimeField(null=True)),
                ('place_id', models.UUIDField(null=True)),
                ('next_due', models.DateTimeField(null=True)),
                ('chatbot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chatbots.chatbot')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='webhooks.retryjob')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('is_active', True)), fields=('chatbot',), name='one_retry_job_of_endpoint'),
                ],
            },
        ),
        migrations.RunPython(prepare_server, migrations.RunPython.noop),
    ]
