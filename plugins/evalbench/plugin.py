"""The Airflow plugin, registered by entry point.

Every Airflow process imports this module: it stays free of anything heavy.
"""

from airflow.plugins_manager import AirflowPlugin


class EvalbenchPlugin(AirflowPlugin):
    """Makes the package known to Airflow as the plugin `evalbench`."""

    name = "evalbench"
