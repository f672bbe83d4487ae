"""How numbers and their units are written in every format."""

from irlens.model.text import count as count
from irlens.model.text import percent as percent
from irlens.model.text import plural as plural
from irlens.model.text import signed as signed
from irlens.model.text import size as size
