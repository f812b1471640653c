internal import Foundation
internal import Values

/// A URL that Assay may call, because its host is loopback or was allowed by the user.
struct TargetURL {
    /// The scheme, host and port, such as `http://127.0.0.1:8080`.
    let base: String
    /// The path and the query, as in the request line of HTTP.
    let target: String

    init(_ text: String, flag: String, allowed: [String]) throws {
        guard let url = URLComponents(string: text), let scheme = url.scheme,
            ["http", "https"].contains(scheme), let host = url.host, !host.isEmpty
        else {
            throw CommandFailure(
                .usage,
                "\(flag) '\(text)' is not a URL such as http://127.0.0.1:8080"
            )
        }
        guard url.user == nil, url.password == nil else {
            throw CommandFailure(
                .usage,
                "\(flag) contains a name or a password, which would appear in reports; write "
                    + "\(scheme)://\(host) without it, and send the credentials as a header"
            )
        }
        guard HostName.isLoopback(host) || allowed.contains(host) else {
            throw CommandFailure(
                .usage,
                "\(host) is not this machine; to allow it, add --allow-host \(host)"
            )
        }
        if let port = url.port, !(1...65_535).contains(port) {
            throw CommandFailure(
                .usage,
                "\(flag) '\(text)' has port \(port); ports go from 1 to 65535"
            )
        }
        base = "\(scheme)://\(host)" + (url.port.map { ":\($0)" } ?? "")
        target =
            (url.percentEncodedPath.isEmpty ? "/" : url.percentEncodedPath)
            + (url.percentEncodedQuery.map { "?" + $0 } ?? "")
    }
}
