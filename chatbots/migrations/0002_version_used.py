"""Mark the versions that replies have used. Of the existing ones, all may have been."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatbots', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='version',
            name='used',
            field=models.BooleanField(default=True),
        ),
        migrations.AlterField(
            model_name='version',
            name='used',
            field=models.BooleanField(default=False),
        ),
    ]
