/// A flag of the `curl` command, by its effect on the request.
enum CurlFlag {
    /// A flag with a value that does not affect the request.
    case ignored
    /// A flag without a value that does not affect the request.
    case ignoredWithoutValue
    /// A flag with which the request cannot be determined, and the reason.
    case refused(String)
    case method, header, data, rawData, binaryData, encodedData, json, form, literalForm, user
    case literalURLs, bearer, cookie, query, head, url, urlQuery, upload, userAgent, referer,
        range,
        target, next

    /// Whether the flag is followed by a value.
    var takesValue: Bool {
        switch self {
        case .ignoredWithoutValue, .refused, .query, .head, .next, .literalURLs: false
        case .ignored, .method, .header, .data, .rawData, .binaryData, .encodedData, .json, .form,
            .literalForm, .user, .bearer, .cookie, .url, .urlQuery, .upload, .userAgent, .referer,
            .range, .target:
            true
        }
    }

    /// The flags by their letter, as in `-X`.
    static let byLetter: [Character: CurlFlag] = {
        var flags: [Character: CurlFlag] = [
            "X": .method, "H": .header, "d": .data, "F": .form, "u": .user, "b": .cookie,
            "G": .query, "I": .head, "T": .upload, "A": .userAgent, "e": .referer, "r": .range,
            "g": .literalURLs, ":": .next, "C": .refused("depends on an earlier response"),
            "K": .refused("is read from a file"),
            "n": .refused("takes its password from a file"),
            "z": .refused("depends on a date"), "Q": .refused("does not use HTTP"),
        ]
        for letter in "ocDmwxUEyYPt" { flags[letter] = .ignored }
        for letter in "sSkviLfqN#012346aBjJlMOpRZ" { flags[letter] = .ignoredWithoutValue }
        return flags
    }()

    /// The flags by their name, as in `--request`.
    static let byName: [String: CurlFlag] = {
        var flags: [String: CurlFlag] = [
            "request": .method, "header": .header, "data": .data, "data-ascii": .data,
            "data-raw": .rawData, "data-binary": .binaryData, "data-urlencode": .encodedData,
            "json": .json, "form": .form, "form-string": .literalForm, "user": .user,
            "oauth2-bearer": .bearer, "cookie": .cookie, "get": .query, "head": .head, "url": .url,
            "url-query": .urlQuery, "upload-file": .upload, "user-agent": .userAgent,
            "referer": .referer, "range": .range, "request-target": .target, "next": .next,
            "globoff": .literalURLs,
            "config": .refused("is read from a file"),
            "netrc": .refused("takes its password from a file"),
            "netrc-file": .refused("takes its password from a file"),
            "netrc-optional": .refused("takes its password from a file"),
            "variable": .refused("has variables"), "expand-url": .refused("has variables"),
            "time-cond": .refused("depends on a date"),
            "etag-compare": .refused("depends on an earlier response"),
            "continue-at": .refused("depends on an earlier response"),
        ]
        let unsupportedAuthOptions = [
            "digest", "ntlm", "negotiate", "anyauth", "aws-sigv4", "proxy-anyauth",
        ]
        for name in unsupportedAuthOptions {
            flags[name] = .refused("needs several requests or a new signature")
        }
        let ignored = [
            "output", "output-dir", "max-time", "connect-timeout", "write-out", "retry",
            "retry-delay", "retry-max-time", "max-redirs", "proxy", "proxy-user", "cacert",
            "capath",
            "cert", "cert-type", "key", "key-type", "pass", "ciphers", "tls13-ciphers", "curves",
            "resolve", "connect-to", "interface", "cookie-jar", "dump-header", "limit-rate",
            "speed-limit", "speed-time", "stderr", "trace", "trace-ascii", "keepalive-time",
            "dns-servers", "unix-socket", "abstract-unix-socket", "max-filesize", "tls-max",
            "noproxy", "local-port", "expect100-timeout", "parallel-max", "rate",
            "happy-eyeballs-timeout-ms", "create-file-mode", "etag-save", "proxy-header",
            "proto", "proto-default", "proto-redir", "socks4", "socks4a", "socks5",
            "socks5-hostname", "doh-url", "pinnedpubkey", "service-name",
        ]
        for name in ignored { flags[name] = .ignored }
        let ignoredWithoutValue = [
            "silent", "show-error", "insecure", "verbose", "include", "show-headers", "location",
            "location-trusted", "fail", "fail-with-body", "fail-early", "disable",
            "no-buffer", "progress-bar", "no-progress-meter", "basic", "compressed",
            "compressed-ssh", "http0.9", "http1.0", "http1.1", "http2", "http2-prior-knowledge",
            "http3", "http3-only", "ipv4", "ipv6", "tlsv1", "tlsv1.0", "tlsv1.1", "tlsv1.2",
            "tlsv1.3", "ssl", "ssl-reqd", "ssl-no-revoke", "ssl-allow-beast", "sslv2", "sslv3",
            "tcp-nodelay", "tcp-fastopen", "keepalive", "parallel", "parallel-immediate",
            "path-as-is", "post301", "post302", "post303", "raw", "remote-name",
            "remote-name-all", "remote-header-name", "remote-time", "create-dirs", "clobber",
            "junk-session-cookies", "list-only", "manual", "trace-time", "trace-ids",
            "styled-output",
            "suppress-connect-headers", "tr-encoding", "xattr", "retry-all-errors",
            "retry-connrefused", "alpn", "npn", "sessionid", "cert-status", "ca-native",
            "proxytunnel",
            "skip-existing", "remove-on-error", "haproxy-protocol", "disallow-username-in-url",
        ]
        for name in ignoredWithoutValue { flags[name] = .ignoredWithoutValue }
        return flags
    }()
}
