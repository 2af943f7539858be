"""nghttpd, the HTTP/2 server of nghttp2: target, monitor, metric, panel and finding."""
