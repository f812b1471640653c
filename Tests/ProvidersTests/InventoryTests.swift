import Grammar
import Providers
import Testing
import TestSupport
import Values

/// What `assay coverage` says of the fakes is what they do.
@Suite("The inventory of the services' operations")
struct InventoryTests {
    private static let operations = ProviderTable.all.sortedEntries.flatMap { provider in
        provider.operations().map { (provider: provider, operation: $0) }
    }

    @Test func `every operation is listed once, under unique names`() {
        var seen: Set<String> = []
        for (provider, operation) in Self.operations {
            let line = "\(provider.party) \(operation.method) \(operation.path)"
            #expect(seen.insert(line).inserted, "\(line)")
            #expect(operation.path.hasPrefix("/"), "\(line)")
        }
        #expect(Self.operations.count > 250)
    }

    /// A path with something in the place of every name.
    private static func filled(_ path: String) -> String {
        let values = ["app_id": OneSignalState.defaultAppID, "project": "demo-project"]
        var filled = ""
        var rest = path[...]
        while let open = rest.firstIndex(of: "{"), let close = rest.firstIndex(of: "}") {
            filled += rest[..<open]
            filled += values[String(rest[rest.index(after: open)..<close])] ?? "x"
            rest = rest[rest.index(after: close)...]
        }
        return filled + rest
    }

    @Test func `served operations respond, and others are refused in the service's format`() {
        for (provider, operation) in Self.operations {
            var services = Services(seed: 1)
            var target = Self.filled(operation.path)
            if provider.party == .firebase { target += "?key=k" }
            let admin = HTTPMessage.Field("authorization", "Bearer owner")
            let fields = provider.party == .firebase && target.contains("/projects/") ? [admin] : []
            let request = HTTPMessage.Request(
                operation.method,
                target,
                fields: fields,
                body: operation.method == "GET" ? [] : Array("{}".utf8)
            )
            let now = Instant(milliseconds: 1_790_000_000_000)
            let response = services.respond(provider.party, to: request, at: now).response
            let text = String(decoding: response.body, as: UTF8.self)
            let line =
                "\(provider.party) \(operation.method) \(operation.path): \(text.prefix(200))"
            switch operation.supportStatus {
            case .served:
                // A path that nobody answers has these texts, and what is not found others.
                let nobody = ["\"Not found\"", "\"Not Found\"", "The resource was not found"]
                #expect(!nobody.contains(where: text.contains), "\(line)")
                #expect(response.status != 501 && response.status != 405, "\(line)")
            case .refused: #expect([401, 403].contains(response.status), "\(line)")
            case .absent:
                #expect(response.status == 501, "\(line)")
                #expect(text.contains("is not implemented"), "\(line)")
            }
        }
    }

    @Test func `the guide to the fakes states the totals`() throws {
        let guide = Repository.text(
            of: "Sources/AssayCLI/Assay.docc/Guides/FakesForDevelopment.md"
        )
        var names: [String] = []
        for (provider, operation) in Self.operations {
            let name = "\(provider.title) \(operation.interface)"
            if !names.contains(name) { names.append(name) }
        }
        for name in names {
            let own = Self.operations.filter {
                "\($0.provider.title) \($0.operation.interface)" == name
                    && $0.operation.isInAPIDescription
            }
            let served = own.count { $0.operation.supportStatus == .served }
            let line = "| \(name) | \(own.count) | \(served) |"
            #expect(guide.contains(line), "the guide lacks the line '\(line) …'")
        }
    }
}
