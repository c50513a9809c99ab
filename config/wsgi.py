"""Django as a WSGI application, which `config.rsgi` serves."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
from config.runtime.processes import end_without_parent

application = get_wsgi_application()
gc.collect()
gc.freeze()  # what exists now stays: scanning it would halt every request for 0.1 s
end_without_parent()
