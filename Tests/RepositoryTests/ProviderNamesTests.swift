import Foundation
import Testing
import TestSupport

/// Who names a provider outside its folder, and why: a ceiling for each, so that a list that was
/// written by hand does not come back.
@Suite("Provider names appear only where they belong")
struct ProviderNamesTests {
    /// A place that names providers for a reason of its own.
    private struct NamingArea {
        let prefix: String
        let reason: String
        /// How many files may name a provider, by its name.
        let ceilings: [String: Int]

        init(_ prefix: String, _ reason: String, _ ceilings: [String: Int]) {
            self.prefix = prefix
            self.reason = reason
            self.ceilings = ceilings
        }
    }

    private static let providers = ["revenuecat", "onesignal", "firebase", "purchasely", "despia"]

    /// The first that fits counts.
    private static let places = [
        NamingArea(
            "Sources/ReferenceBackend/",
            "the backend under test speaks to the services by their own names",
            ["revenuecat": 4, "onesignal": 3, "firebase": 3, "purchasely": 7, "despia": 0]
        ),
        NamingArea(
            "Sources/Contracts/Language/",
            "the grammar of contracts and profiles has keys for it, and says what they mean",
            ["revenuecat": 4, "onesignal": 0, "firebase": 8, "purchasely": 0, "despia": 2]
        ),
        NamingArea(
            "Sources/Contracts/Clauses/",
            "the catalogue has clauses of each service, and says why they are what they are",
            ["revenuecat": 0, "onesignal": 0, "firebase": 0, "purchasely": 0, "despia": 0]
        ),
        NamingArea(
            "Sources/Contracts/",
            "contracts name the service whose event, fault or clause they are about",
            ["revenuecat": 0, "onesignal": 0, "firebase": 1, "purchasely": 0, "despia": 3]
        ),
        NamingArea(
            "Sources/Judging/",
            "findings cite the facts of a service, and an app sends the commands of its bridge",
            ["revenuecat": 4, "onesignal": 5, "firebase": 2, "purchasely": 0, "despia": 1]
        ),
        NamingArea(
            "Sources/Values/",
            "the parties of an exchange, and the commands of the Despia bridge",
            ["revenuecat": 1, "onesignal": 1, "firebase": 0, "purchasely": 0, "despia": 1]
        ),
        NamingArea(
            "Sources/Grammar/",
            "the template word for an ID token",
            ["revenuecat": 0, "onesignal": 0, "firebase": 1, "purchasely": 0, "despia": 0]
        ),
        NamingArea(
            "Sources/Redaction/",
            "the header of Firebase App Check",
            ["revenuecat": 0, "onesignal": 0, "firebase": 1, "purchasely": 0, "despia": 0]
        ),
        NamingArea(
            "Sources/Providers/Services.swift",
            "the field that holds its state",
            ["revenuecat": 1, "onesignal": 1, "firebase": 1, "purchasely": 1, "despia": 1]
        ),
        NamingArea(
            "Sources/Providers/ProviderTable.swift",
            "the one line",
            ["revenuecat": 1, "onesignal": 1, "firebase": 1, "purchasely": 1, "despia": 1]
        ),
        NamingArea(
            "Sources/Providers/",
            "what one service does at another: purchases on a device, tags; user IDs like Firebase's",
            ["revenuecat": 9, "onesignal": 6, "firebase": 2, "purchasely": 0, "despia": 2]
        ),
        NamingArea(
            "Sources/FakeServers/",
            "Firebase's codes among the planned responses",
            ["revenuecat": 0, "onesignal": 0, "firebase": 1, "purchasely": 0, "despia": 0]
        ),
        NamingArea(
            "Sources/Exploration/Services/ServiceList.swift",
            "the one line of each service in generated histories",
            ["revenuecat": 1, "onesignal": 1, "firebase": 0, "purchasely": 0, "despia": 0]
        ),
        NamingArea(
            "Sources/Phone/",
            "an app on the Despia runtime uses the services' own SDKs",
            ["revenuecat": 4, "onesignal": 2, "firebase": 2, "purchasely": 0, "despia": 4]
        ),
        NamingArea(
            "Sources/Replay/",
            "events that a contract describes, the app with accounts, a contract key in a message, and the script of the Despia bridge",
            ["revenuecat": 1, "onesignal": 1, "firebase": 5, "purchasely": 0, "despia": 2]
        ),
        NamingArea(
            "Sources/Recording/",
            "none: the table of providers answers every question",
            ["revenuecat": 0, "onesignal": 0, "firebase": 0, "purchasely": 0, "despia": 0]
        ),
        NamingArea(
            "Sources/Reports/",
            "words for people: what was tapped on a phone, what an event says",
            ["revenuecat": 0, "onesignal": 0, "firebase": 0, "purchasely": 0, "despia": 1]
        ),
        NamingArea(
            "Sources/AssayCLI/",
            "the flags of serve and send, examples in help texts, and the addresses of the reference backend",
            ["revenuecat": 10, "onesignal": 4, "firebase": 2, "purchasely": 5, "despia": 2]
        ),
        NamingArea(
            "Sources/AssayBenchmarks/",
            "what is measured: calls, and writes of each kind",
            ["revenuecat": 7, "onesignal": 6, "firebase": 5, "purchasely": 3, "despia": 4]
        ),
    ]

    /// The code of each file; a comment may name the provider that it is about.
    private static let files = Repository.files(below: "Sources").map { file in
        let lines = file.text.split(separator: "\n").filter {
            !$0.drop { $0 == " " }.hasPrefix("//")
        }
        return (path: file.path, text: lines.joined(separator: "\n").lowercased())
    }

    /// Files outside its folders that name a provider.
    private static func naming(_ provider: String) -> [String] {
        let folders = ["sources/providers/", "sources/exploration/services/"]
        return files.filter { file in
            file.text.contains(provider)
                && !folders.contains {
                    file.path.lowercased().hasPrefix("\($0)\(provider)/")
                }
        }.map(\.path)
    }

    @Test("no more files name a provider than there are reasons", arguments: providers)
    func ceilings(provider: String) {
        var counts: [String: [String]] = [:]
        for path in Self.naming(provider) {
            guard let place = Self.places.first(where: { path.hasPrefix($0.prefix) }) else {
                Issue.record("\(path) names \(provider): ask the provider's entry instead")
                continue
            }
            counts[place.prefix, default: []].append(path)
        }
        for place in Self.places {
            let found = counts[place.prefix] ?? []
            let ceiling = place.ceilings[provider] ?? 0
            #expect(
                found.count <= ceiling,
                """
                \(found.count) files of \(place.prefix) name \(provider), \(ceiling) have a reason \
                (\(place.reason)): ask the provider's entry instead. \(found)
                """
            )
        }
    }

    @Test func `every file is checked, and every provider folder exists`() {
        #expect(Self.files.count > 300)
        for provider in Self.providers {
            #expect(
                Self.files.contains {
                    $0.path.lowercased().hasPrefix("sources/providers/\(provider)/")
                }
            )
        }
    }

    /// Where lists were written by hand before, nobody is named today.
    @Test(
        "code for all providers names none",
        arguments: [
            "Sources/FakeServers/Control/ControlAPI.swift",
            "Sources/FakeServers/Control/ControlRoute.swift",
            "Sources/FakeServers/Control/ControlSwitches.swift",
            "Sources/FakeServers/Control/ControlSnapshots.swift",
            "Sources/FakeServers/Control/ControlDeliveries.swift",
            "Sources/FakeServers/Control/ControlFaults.swift",
            "Sources/FakeServers/DeclaredSecrets.swift", "Sources/FakeServers/JournalLines.swift",
            "Sources/FakeServers/WebhookDispatcher.swift", "Sources/Providers/Provider.swift",
            "Sources/Providers/ProviderEntry.swift", "Sources/Providers/Control/SwitchGroup.swift",
            "Sources/Providers/Control/ProviderControl.swift",
            "Sources/Providers/Control/ControlMember.swift",
            "Sources/Providers/Webhooks/RetrySchedule.swift",
            "Sources/Providers/Webhooks/DeliveryQueue.swift",
            "Sources/Providers/Webhooks/WebhookSender.swift",
            "Sources/Providers/Webhooks/WebhookSenderEntry.swift",
        ]
    )
    func namesNone(path: String) throws {
        let file = try #require(Self.files.first { $0.path == path }, "\(path) has moved")
        for provider in Self.providers {
            #expect(!file.text.contains(".\(provider)"), "\(path) asks for \(provider)")
        }
    }

    /// The wire format of a provider is its own folder's matter (decision 0029).
    @Test(
        "rules read no provider's body",
        arguments: [
            "include_aliases", "idempotency_key", "x-purchasely", "purchasely_subscription_id",
            "x-revenuecat", "idtoken", "localid", "expiration_at_ms", "entitlement_ids",
        ]
    )
    func noWireFormat(word: String) {
        for (path, text) in Self.files where path.hasPrefix("Sources/Judging/Rules/") {
            #expect(!text.contains(word), "\(path) knows '\(word)'")
        }
    }
}
