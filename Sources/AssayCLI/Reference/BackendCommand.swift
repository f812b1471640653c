internal import ArgumentParser
internal import Foundation
internal import ReferenceBackend

struct BackendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backend",
        abstract: "Runs the reference backend, correct or with defects.",
        discussion: """
            The backend is configured by environment variables: REVENUECAT_WEBHOOK_AUTH, \
            REVENUECAT_WEBHOOK_SECRET, REVENUECAT_API_BASE, REVENUECAT_API_KEY, \
            ONESIGNAL_API_BASE, ONESIGNAL_APP_ID, ONESIGNAL_API_KEY, \
            PURCHASELY_WEBHOOK_SECRET, FIREBASE_PROJECT_ID, FIREBASE_JWKS_URL and \
            FIREBASE_AUTH_BASE.

            Example:  assay backend --port 8080 --data ./data
                      assay verify --start 'assay backend --port {{port}} --defect no-dedupe'
            """
    )

    @Option(name: .long, help: "The port on 127.0.0.1; 0 chooses a free one.")
    var port = 0

    @Option(name: .long, help: "The folder of the database file.", completion: .directory)
    var data = "./assay-backend"

    @Option(
        name: .long,
        help: "A defect to turn on; 'guide' turns on the defects of a published guide.",
        completion: Completions.defects
    )
    var defect: [String] = []

    @Option(name: .long, help: "State comes from: body (the event) or sync (GET /v1/subscribers).")
    var style = "body"

    @Option(
        name: .long,
        help:
            "The proof of identity in logins: password, or id-token (the uid becomes the user's ID)."
    )
    var loginProof = "password"

    @Flag(name: .long, help: "List the defects and exit.")
    var listDefects = false

    mutating func run() async throws {
        if listDefects {
            for defect in Defect.allCases {
                let name = defect.rawValue
                let padding = String(repeating: " ", count: max(1, 32 - name.count))
                Terminal.output("\(name)\(padding)\(defect.summary)\n")
            }
            return
        }
        let environment = ProcessInfo.processInfo.environment
        guard let style = ReferenceBackend.StateSource(rawValue: style) else {
            throw CommandFailure(.usage, "--style '\(style)' is neither body nor sync")
        }
        guard let loginProof = ReferenceBackend.LoginProof(rawValue: loginProof) else {
            throw CommandFailure(
                .usage,
                "--login-proof '\(loginProof)' is neither password nor id-token"
            )
        }
        var configuration = ReferenceBackend.Configuration(
            port: port,
            dataPath: data,
            authorization: environment["REVENUECAT_WEBHOOK_AUTH"],
            signingKey: environment["REVENUECAT_WEBHOOK_SECRET"],
            oneSignalBaseURL: environment["ONESIGNAL_API_BASE"] ?? "http://127.0.0.1:9320",
            oneSignalAppID: environment["ONESIGNAL_APP_ID"]
                ?? "a55a4000-0000-4000-8000-000000000000",
            oneSignalKey: environment["ONESIGNAL_API_KEY"] ?? "os_v2_app_assay"
        )
        configuration.style = style
        configuration.loginProof = loginProof
        configuration.revenueCatBaseURL =
            environment["REVENUECAT_API_BASE"] ?? "http://127.0.0.1:9310"
        configuration.revenueCatKey = environment["REVENUECAT_API_KEY"] ?? "sk_assay"
        configuration.entitlement = environment["REVENUECAT_ENTITLEMENT"] ?? "premium"
        configuration.purchaselySecret = environment["PURCHASELY_WEBHOOK_SECRET"]
        configuration.firebaseProject = environment["FIREBASE_PROJECT_ID"] ?? "assay-project"
        configuration.firebaseKeysURL = environment["FIREBASE_JWKS_URL"]
        configuration.firebaseAuthURL = environment["FIREBASE_AUTH_BASE"]
        let lacksSecret =
            (configuration.authorization ?? "").isEmpty && (configuration.signingKey ?? "").isEmpty
        let backend = ReferenceBackend(configuration, showing: try defects())
        do {
            try await backend.run { port in
                Terminal.error("reference backend on http://127.0.0.1:\(port)\n")
                if lacksSecret {
                    Terminal.error(
                        "REVENUECAT_WEBHOOK_AUTH is not set, so it refuses RevenueCat's events\n"
                    )
                }
            }
        } catch {
            throw CommandFailure(.unreachable, "the reference backend cannot run: \(error)")
        }
    }

    private func defects() throws -> Set<Defect> {
        var defects: Set<Defect> = []
        for name in defect.flatMap({ $0.split(separator: ",").map(String.init) }) {
            if name == "guide" {
                defects.formUnion(Defect.identityGuideDefects)
            } else if let known = Defect(rawValue: name) {
                defects.insert(known)
            } else {
                throw CommandFailure(
                    .usage,
                    "unknown defect '\(name)'; see 'assay backend --list-defects'"
                )
            }
        }
        return defects
    }
}
