package import Conformance
package import FakeServers
internal import Foundation
internal import Programs
internal import Providers

/// The intercepting proxy of a run with all that makes a backend's clients come to it: an authority
/// in a folder, and the variables that programs of each language read.
package final class Interception: Sendable {
    package let proxy: InterceptingProxy
    /// Where the authority and the hooks are.
    package let folder: String
    private let allowed: [String]

    package var refusals: Refusals { proxy.refusals }

    /// Where systems keep whom they trust, the usual one first.
    private static let systemRoots = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/cert.pem",
    ]

    /// Opens the proxy, and writes the authority and the hooks.
    ///
    /// - Parameters:
    ///   - servers: The fakes that stand in.
    ///   - world: What they share.
    ///   - allowed: Hosts that a backend may call all the same.
    ///   - folder: Made if it is not there; the content of its files is replaced. No other user may
    ///     read what is made.
    ///   - now: What the authority's certificates are dated by.
    ///   - address: Where the proxy listens; port 0 picks a free one.
    ///   - onRefusal: Told of everything that is refused, once for each kind.
    /// - Throws: When a host may not be let through, or the port or the folder cannot be had.
    package init(
        before servers: [FakeServer],
        world: FakeWorld,
        allowing allowed: [String] = [],
        folder: String,
        now: Instant,
        address: ReplaySession.Address = ReplaySession.Address(host: "127.0.0.1", port: 0),
        onRefusal: @escaping @Sendable (Refusal) -> Void
    ) async throws(ReplaySession.OpenError) {
        if let problem = allowed.lazy.compactMap(Self.problem(of:)).first {
            throw ReplaySession.OpenError(kind: .configuration, description: problem)
        }
        self.folder = folder
        self.allowed = allowed
        let authority: Authority
        do {
            authority = try Authority(at: now)
        } catch {
            throw ReplaySession.OpenError(
                kind: .configuration,
                description: "cannot make an authority: \(error)"
            )
        }
        do throws(StartError) {
            proxy = try await InterceptingProxy(
                before: servers,
                world: world,
                authority: authority,
                refusals: Refusals(onFirst: onRefusal),
                host: address.host,
                port: address.port
            )
        } catch {
            throw ReplaySession.OpenError(kind: .unreachable, description: error.description)
        }
        do throws(OutputFile.WriteError) {
            try Self.write(authority, allowsOthers: !allowed.isEmpty, to: folder)
            try OutputFile(folder + "/env.sh", .ownerOnly).write(script)
        } catch {
            await proxy.stop()
            throw ReplaySession.OpenError(
                kind: .configuration,
                description: "cannot write the authority to '\(folder)': \(error.reason)"
            )
        }
    }

    package func stop() async { await proxy.stop() }

    /// Why a host cannot be let through; nil when it can.
    private static func problem(of host: String) -> String? {
        let name = host.lowercased()
        guard !name.isEmpty, !name.contains(where: { "/:*, ".contains($0) }) else {
            return
                "'\(host)' cannot be let through: write the name of a host, without scheme, port "
                + "and stars"
        }
        // Clients take a name of this list for all names that end so.
        let services = Services.providers.flatMap(\.hosts).map(\.name)
        guard let service = services.first(where: { $0 == name || $0.hasSuffix("." + name) })
        else { return nil }
        return "'\(host)' cannot be let through: nothing under test calls \(service) itself"
    }

    // MARK: Files

    private static func write(
        _ authority: Authority,
        allowsOthers: Bool,
        to folder: String
    ) throws(OutputFile.WriteError) {
        // Who may call others has to trust them as before; who may not trusts nobody else, so that
        // a client that goes round the proxy reaches no service either.
        let others = allowsOthers ? systemRoots.lazy.compactMap(text).first ?? "" : ""
        let trusted =
            [authority.certificateBytes] + JavaTrustStore.certificates(inPEM: others)
        let files: [(String, [UInt8])] = [
            ("authority.pem", Array(authority.certificate.utf8)),
            ("roots.pem", Array((authority.certificate + others).utf8)),
            ("roots.jks", JavaTrustStore.bytes(trusted)),
            ("egress.cjs", Array(EgressHook.node.utf8)),
            ("python/sitecustomize.py", Array(EgressHook.python.utf8)),
            ("php/prepend.php", Array(EgressHook.php.utf8)),
            (
                "php/assay.ini",
                Array(
                    """
                    curl.cainfo="\(folder)/roots.pem"
                    openssl.cafile="\(folder)/roots.pem"
                    auto_prepend_file="\(folder)/php/prepend.php"

                    """.utf8
                )
            ),
        ]
        for (name, bytes) in files {
            try OutputFile(folder + "/" + name, .ownerOnly).write(bytes)
        }
    }

    private static func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).flatMap { String(data: $0, encoding: .utf8) }
    }

    // MARK: Variables

    /// Variables that hold lists, with what stands between their parts: ours come first.
    private static let lists = ["NODE_OPTIONS": " ", "PYTHONPATH": ":", "JAVA_TOOL_OPTIONS": " "]
    /// Ours come last: what stands before them is what PHP was built with.
    private static let folders = "PHP_INI_SCAN_DIR"

    /// What a backend is given that would have these variables without us; their lists are added to.
    package func environment(inheriting inherited: [String: String]) -> [String: String] {
        var variables = variables
        for (name, separator) in Self.lists {
            guard let old = inherited[name], !old.isEmpty, let own = variables[name] else {
                continue
            }
            variables[name] = own + separator + old
        }
        variables[Self.folders] = (inherited[Self.folders] ?? "") + (variables[Self.folders] ?? "")
        return variables
    }

    /// The same for a shell that reads it: what its lists hold is known then.
    private var script: String {
        variables.sorted { $0.key < $1.key }.map { name, value in
            let quoted = "'\(value.replacingOccurrences(of: "'", with: "'\\''"))'"
            let before = name == Self.folders ? "\"${\(name):-}\"" : ""
            let behind = Self.lists[name].map { "\"${\(name):+\($0)$\(name)}\"" } ?? ""
            return "export \(name)=\(before)\(quoted)\(behind)\n"
        }.joined()
    }

    /// What brings clients to the proxy, by who reads it.
    private var variables: [String: String] {
        let url = proxy.baseURL
        let address = String(url.dropFirst("http://".count))
        let roots = folder + "/roots.pem"
        let here = ["localhost", "127.0.0.1", "::1"] + allowed
        var variables: [String: String] = [:]
        // curl, Go, Python, Ruby, .NET, axios; curl takes the first of these in lower case only.
        for name in ["http_proxy", "https_proxy", "no_proxy"] {
            let value = name == "no_proxy" ? here.joined(separator: ",") : url
            variables[name] = value
            variables[name.uppercased()] = value
        }
        for name in [
            "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "DENO_CERT",
            "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
        ] {
            variables[name] = roots
        }
        // Go and OpenSSL look there beside the file.
        if allowed.isEmpty { variables["SSL_CERT_DIR"] = folder }
        variables["NODE_EXTRA_CA_CERTS"] = folder + "/authority.pem"
        variables["ASSAY_AUTHORITY"] = folder + "/authority.pem"
        variables[EgressHook.addressVariable] = address
        if !allowed.isEmpty {
            variables[EgressHook.allowedVariable] = allowed.joined(separator: ",")
        }
        variables["NODE_OPTIONS"] = "--require \"\(folder)/egress.cjs\""
        variables["PYTHONPATH"] = folder + "/python"
        variables["JAVA_TOOL_OPTIONS"] = java
        variables[Self.folders] = ":\(folder)/php"
        return variables
    }

    private var java: String {
        let around = (["localhost", "127.*", "[::1]"] + allowed).joined(separator: "|")
        let properties = [
            ("http.proxyHost", proxy.host), ("http.proxyPort", String(proxy.port)),
            ("https.proxyHost", proxy.host), ("https.proxyPort", String(proxy.port)),
            ("http.nonProxyHosts", around),
            ("javax.net.ssl.trustStore", folder + "/roots.jks"),
            ("javax.net.ssl.trustStoreType", "JKS"),
            ("javax.net.ssl.trustStorePassword", JavaTrustStore.password),
        ]
        return properties.map { "\"-D\($0)=\($1)\"" }.joined(separator: " ")
    }
}
