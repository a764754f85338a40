"""Page models: everything a page shows as frozen records, made from a view of the lake. No HTML, no request."""
