// Before anything is drawn: the reader's choice, else Airflow's, whose page may hold this one; else the system's.
(function () {
  function kept(name) {
    try { return window.localStorage.getItem(name); } catch { return null; }
  }
  const choice = kept("evalbench-theme") || kept("theme");
  if (choice === "light" || choice === "dark") document.documentElement.dataset.theme = choice;
})();
