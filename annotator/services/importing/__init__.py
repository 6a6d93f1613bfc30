"""Taking in what others made: questions, judgments and runs from files, all or nothing, the same file twice is once."""

from annotator.services.importing.files import Source
from annotator.services.importing.judgments import grades_found, import_judgments
from annotator.services.importing.queries import import_queries
from annotator.services.importing.report import ImportReport
from annotator.services.importing.runs import import_run

__all__ = ["ImportReport", "Source", "grades_found", "import_judgments", "import_queries", "import_run"]
