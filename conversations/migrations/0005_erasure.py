from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatbots', '0005_erasure'),
        ('conversations', '0004_thread_counts_and_models_in_use'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='thread',
            options={'default_manager_name': 'objects'},
        ),
        migrations.AlterModelOptions(
            name='visitor',
            options={'default_manager_name': 'objects'},
        ),
        migrations.AddField(
            model_name='message',
            name='form_token',
            field=models.UUIDField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='thread',
            name='erased_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='thread',
            name='purge_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='visitor',
            name='erased_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='visitor',
            name='purge_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.RemoveIndex(model_name='thread', name='thread_latest'),
        migrations.AddIndex(
            model_name='thread',
            index=models.Index(fields=['chatbot', '-updated_at', '-id', 'erased_at'], name='thread_latest'),
        ),
        migrations.AddIndex(
            model_name='thread',
            index=models.Index(condition=models.Q(('purge_at__isnull', False)), fields=['purge_at'], name='thread_purge'),
        ),
        migrations.AddIndex(
            model_name='visitor',
            index=models.Index(condition=models.Q(('purge_at__isnull', False)), fields=['purge_at'], name='visitor_purge'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(condition=models.Q(('form_token__isnull', False)), fields=('thread', 'form_token'), name='answer_sent_once'),
        ),
    ]
