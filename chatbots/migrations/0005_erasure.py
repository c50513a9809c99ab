from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0007_erasure'),
        ('chatbots', '0004_models_in_use'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='chatbot',
            options={'default_manager_name': 'objects', 'ordering': ['-created_at', '-id']},
        ),
        migrations.AddField(
            model_name='chatbot',
            name='erased_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='chatbot',
            name='purge_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddIndex(
            model_name='chatbot',
            index=models.Index(condition=models.Q(('purge_at__isnull', False)), fields=['purge_at'], name='chatbot_purge'),
        ),
    ]
