package import FakeServers
internal import Foundation
internal import Programs
internal import Providers
package import Values

/// The intercepting proxy of a run, with everything that makes the backend's HTTP clients use it.
///
/// This includes a folder with a CA certificate, and environment variables for the programs of each
/// language.
package final class Interception: Sendable {
    package let proxy: InterceptingProxy
    /// The folder with the CA certificate and the scripts that redirect HTTP clients.
    package let folder: String
    private let allowedHosts: [String]

    package var refusals: InterceptionRefusalCounts { proxy.refusals }

    /// The files in which operating systems keep their CA certificates, the most common first.
    private static let systemRootPaths = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/cert.pem",
    ]

    /// Opens the proxy, and writes the CA certificate and the scripts that redirect HTTP clients.
    ///
    /// - Parameters:
    ///   - servers: The fakes that replace the real services.
    ///   - fakes: The state that the fakes share.
    ///   - allowedHosts: Other hosts that the backend may call.
    ///   - folder: The folder for the files, which is created if needed. Existing files are
    ///     replaced. Other users of the machine cannot read the files.
    ///   - now: The date of the certificates.
    ///   - address: The address on which the proxy listens; port 0 picks a free port.
    ///   - onRefusal: Receives the first refused connection of each kind.
    /// - Throws: An error when a host may not be allowed, or the port or the folder is not
    ///   available.
    package init(
        before servers: [FakeServer],
        fakes: FakeRegistry,
        allowing allowedHosts: [String] = [],
        folder: String,
        now: Instant,
        address: ReplaySession.Address = ReplaySession.Address(host: "127.0.0.1", port: 0),
        onRefusal: @escaping @Sendable (InterceptionRefusal) -> Void
    ) async throws(ReplaySession.OpenError) {
        if let problem = allowedHosts.lazy.compactMap(Self.problem(of:)).first {
            throw ReplaySession.OpenError(kind: .configuration, description: problem)
        }
        self.folder = folder
        self.allowedHosts = allowedHosts
        let authority: CertificateAuthority
        do {
            authority = try CertificateAuthority(at: now)
        } catch {
            throw ReplaySession.OpenError(
                kind: .configuration,
                description: "cannot create the CA certificate: \(error)"
            )
        }
        do throws(StartError) {
            proxy = try await InterceptingProxy(
                before: servers,
                fakes: fakes,
                authority: authority,
                refusals: InterceptionRefusalCounts(onFirstRefusal: onRefusal),
                host: address.host,
                port: address.port
            )
        } catch {
            throw ReplaySession.OpenError(kind: .unreachable, description: error.description)
        }
        do throws(OutputFile.WriteError) {
            try Self.write(authority, allowsOthers: !allowedHosts.isEmpty, to: folder)
            try OutputFile(folder + "/env.sh", .ownerOnly).write(exportScript)
        } catch {
            await proxy.stop()
            throw ReplaySession.OpenError(
                kind: .configuration,
                description: "cannot write the CA certificate to '\(folder)': \(error.reason)"
            )
        }
    }

    package func stop() async { await proxy.stop() }

    /// Returns the reason why the backend may not be allowed to call a host; nil if it may.
    private static func problem(of host: String) -> String? {
        let name = host.lowercased()
        guard !name.isEmpty, !name.contains(where: { "/:*, ".contains($0) }) else {
            return
                "the host '\(host)' cannot be allowed: write a host name without scheme, port or "
                + "'*'"
        }
        // HTTP clients treat an allowed host such as `example.com` as a suffix: they also call
        // `api.example.com` without the proxy.
        let providerHostNames = Services.providers.flatMap(\.hosts).map(\.name)
        guard
            let service = providerHostNames.first(where: { $0 == name || $0.hasSuffix("." + name) })
        else { return nil }
        return "the host '\(host)' cannot be allowed: a backend under test must not call the real "
            + service
    }

    // MARK: Files

    private static func write(
        _ authority: CertificateAuthority,
        allowsOthers: Bool,
        to folder: String
    ) throws(OutputFile.WriteError) {
        // A backend that may call other hosts has to trust their certificates as before. Any other
        // backend trusts only Assay's, so that a client that bypasses the proxy reaches no real
        // service.
        let systemCertificates =
            allowsOthers ? systemRootPaths.lazy.compactMap(fileText).first ?? "" : ""
        let trustedCertificates =
            [authority.certificateBytes] + JavaTrustStore.certificates(inPEM: systemCertificates)
        let files: [(String, [UInt8])] = [
            ("authority.pem", Array(authority.certificate.utf8)),
            ("roots.pem", Array((authority.certificate + systemCertificates).utf8)),
            ("roots.jks", JavaTrustStore.bytes(trustedCertificates)),
            ("egress.cjs", Array(EgressHook.nodeScript.utf8)),
            ("python/sitecustomize.py", Array(EgressHook.pythonScript.utf8)),
            ("php/prepend.php", Array(EgressHook.phpScript.utf8)),
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

    private static func fileText(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).flatMap { String(data: $0, encoding: .utf8) }
    }

    // MARK: Variables

    /// Environment variables that contain lists, with the separator between the items.
    ///
    /// Assay's item comes first in each list.
    private static let separatorsByListVariable = [
        "NODE_OPTIONS": " ", "PYTHONPATH": ":", "JAVA_TOOL_OPTIONS": " ",
    ]
    /// The environment variable with the folders of PHP settings.
    ///
    /// Assay's folder comes after the folders that PHP was built with.
    private static let phpFolderVariable = "PHP_INI_SCAN_DIR"

    /// Returns the environment variables for a backend, including extended lists of the inherited
    /// variables.
    ///
    /// - Parameter inherited: The variables that the backend would get without interception.
    /// - Returns: The variables to set.
    package func environment(inheriting inherited: [String: String]) -> [String: String] {
        var variables = variables
        for (name, separator) in Self.separatorsByListVariable {
            guard let inheritedValue = inherited[name], !inheritedValue.isEmpty,
                let ownValue = variables[name]
            else {
                continue
            }
            variables[name] = ownValue + separator + inheritedValue
        }
        variables[Self.phpFolderVariable] =
            (inherited[Self.phpFolderVariable] ?? "") + (variables[Self.phpFolderVariable] ?? "")
        return variables
    }

    /// A shell script that sets the variables.
    ///
    /// For a variable that contains a list, the script adds Assay's item to the list of the shell
    /// that runs the script.
    private var exportScript: String {
        variables.sorted { $0.key < $1.key }.map { name, value in
            let quotedValue = "'\(value.replacingOccurrences(of: "'", with: "'\\''"))'"
            let before = name == Self.phpFolderVariable ? "\"${\(name):-}\"" : ""
            let exportSuffix =
                Self.separatorsByListVariable[name].map { "\"${\(name):+\($0)$\(name)}\"" } ?? ""
            return "export \(name)=\(before)\(quotedValue)\(exportSuffix)\n"
        }.joined()
    }

    /// The environment variables that direct HTTP clients to the proxy.
    private var variables: [String: String] {
        let url = proxy.baseURL
        let address = String(url.dropFirst("http://".count))
        let rootsPath = folder + "/roots.pem"
        let directHosts = ["localhost", "127.0.0.1", "::1"] + allowedHosts
        var variables: [String: String] = [:]
        // These are for curl, Go, Python, Ruby, .NET and axios. curl reads http_proxy in lowercase
        // only.
        for name in ["http_proxy", "https_proxy", "no_proxy"] {
            let value = name == "no_proxy" ? directHosts.joined(separator: ",") : url
            variables[name] = value
            variables[name.uppercased()] = value
        }
        for name in [
            "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "DENO_CERT",
            "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
        ] {
            variables[name] = rootsPath
        }
        // Go and OpenSSL trust the certificates in this folder in addition to those in the file of
        // `SSL_CERT_FILE`.
        if allowedHosts.isEmpty { variables["SSL_CERT_DIR"] = folder }
        variables["NODE_EXTRA_CA_CERTS"] = folder + "/authority.pem"
        variables["ASSAY_AUTHORITY"] = folder + "/authority.pem"
        variables[EgressHook.addressVariable] = address
        if !allowedHosts.isEmpty {
            variables[EgressHook.allowedHostsVariable] = allowedHosts.joined(separator: ",")
        }
        variables["NODE_OPTIONS"] = "--require \"\(folder)/egress.cjs\""
        variables["PYTHONPATH"] = folder + "/python"
        variables["JAVA_TOOL_OPTIONS"] = javaToolOptions
        variables[Self.phpFolderVariable] = ":\(folder)/php"
        return variables
    }

    private var javaToolOptions: String {
        let javaDirectHosts = (["localhost", "127.*", "[::1]"] + allowedHosts).joined(
            separator: "|"
        )
        let properties = [
            ("http.proxyHost", proxy.host), ("http.proxyPort", String(proxy.port)),
            ("https.proxyHost", proxy.host), ("https.proxyPort", String(proxy.port)),
            ("http.nonProxyHosts", javaDirectHosts),
            ("javax.net.ssl.trustStore", folder + "/roots.jks"),
            ("javax.net.ssl.trustStoreType", "JKS"),
            ("javax.net.ssl.trustStorePassword", JavaTrustStore.password),
        ]
        return properties.map { "\"-D\($0)=\($1)\"" }.joined(separator: " ")
    }
}
