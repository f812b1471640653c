import FakeServers
import Foundation
import Replay
import Testing
import Values

/// What brings the clients of a backend to the intercepting proxy.
@Suite("Interception")
struct InterceptionTests {
    private func with(
        allowing allowed: [String] = [],
        _ body: (Interception) throws -> Void
    ) async throws {
        let folder = NSTemporaryDirectory() + "assay interception \(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let fakes = FakeRegistry(
            journalBytesMax: 1 << 20,
            wallClock: { Instant(milliseconds: 1_700_000_000_000) }
        )
        let interception = try await Interception(
            before: [],
            fakes: fakes,
            allowing: allowed,
            folder: folder,
            now: Instant(milliseconds: 1_700_000_000_000),
            onRefusal: { _ in }
        )
        try body(interception)
        await interception.stop()
    }

    @Test func `existing lists in variables are extended`() async throws {
        try await with { interception in
            let variables = interception.environment(inheriting: [
                "NODE_OPTIONS": "--enable-source-maps", "PYTHONPATH": "/own", "SSL_CERT_FILE": "/x",
                "JAVA_TOOL_OPTIONS": "-Xmx1g", "PHP_INI_SCAN_DIR": "/own",
            ])
            let folder = interception.folder
            #expect(
                variables["NODE_OPTIONS"]
                    == "--require \"\(folder)/egress.cjs\" --enable-source-maps"
            )
            #expect(variables["PYTHONPATH"] == "\(folder)/python:/own")
            #expect(variables["JAVA_TOOL_OPTIONS"]?.hasSuffix(" -Xmx1g") == true)
            #expect(variables["PHP_INI_SCAN_DIR"] == "/own:\(folder)/php")
            #expect(variables["SSL_CERT_FILE"] == "\(folder)/roots.pem")
            #expect(variables["SSL_CERT_DIR"] == folder)
            #expect(variables["https_proxy"] == "http://127.0.0.1:\(interception.proxy.port)")
        }
    }

    @Test func `every file named in a variable exists`() async throws {
        try await with { interception in
            let files = FileManager.default
            let variables = interception.environment(inheriting: [:])
            for name in [
                "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "ASSAY_AUTHORITY",
                "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "DENO_CERT", "CURL_CA_BUNDLE", "PYTHONPATH",
            ] {
                #expect(files.fileExists(atPath: variables[name] ?? ""), "\(name)")
            }
            for name in ["env.sh", "egress.cjs", "python/sitecustomize.py", "roots.jks"] {
                #expect(files.fileExists(atPath: "\(interception.folder)/\(name)"), "\(name)")
            }
            // Its key is worth something as long as the run goes on.
            let names = try files.subpathsOfDirectory(atPath: interception.folder)
            for name in names {
                let path = interception.folder + "/" + name
                let text = String(decoding: files.contents(atPath: path) ?? Data(), as: UTF8.self)
                #expect(!text.contains("PRIVATE KEY"), "\(name)")
            }
        }
    }

    @Test func `allowed hosts stay trusted as before`() async throws {
        try await with(allowing: ["db.example"]) { interception in
            let variables = interception.environment(inheriting: [:])
            #expect(variables["NO_PROXY"] == "localhost,127.0.0.1,::1,db.example")
            #expect(variables["SSL_CERT_DIR"] == nil)
            #expect(variables["ASSAY_EGRESS_ALLOW"] == "db.example")
        }
    }

    @Test(
        "no setting lets a service call through",
        arguments: [
            "api.onesignal.com", "API.RevenueCat.com", "googleapis.com", "com", "", "a:443",
            "https://a", "*.a",
        ]
    )
    func refuses(host: String) async throws {
        let error = await #expect(throws: ReplaySession.OpenError.self) {
            try await with(allowing: [host]) { _ in }
        }
        #expect(error?.kind == .configuration)
        #expect(error?.description.contains("cannot be allowed") == true)
    }
}
