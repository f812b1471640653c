import Contracts
import Providers
import Redaction
import Testing

@testable import Replay

/// The start of a backend with other secrets than those of its profile.
@Suite("Backend launch")
struct BackendLaunchTests {
    private static func plan(_ environment: [String: String], _ secret: String)
        -> BackendLaunchPlan
    {
        BackendLaunchPlan(
            Profile.StartSettings(
                command: "serve --auth '{{secret.revenuecat-authorization}}'",
                environment: environment
            ),
            ["port": "1", "data": "d", "secret.revenuecat-authorization": secret],
            BackendSetup(
                addresses: [:],
                secrets: [.revenueCatAuthorization: Secret(secret)],
                project: "p",
                isSigned: false
            )
        )
    }

    private static let secrets = ["Bearer s3cret-1", "plain-9", "Basic YTpi", "x"]

    @Test("no changed start contains the secret", arguments: secrets)
    func changed(secret: String) throws {
        let plan = Self.plan(
            ["MY_AUTH": "{{secret.revenuecat-authorization}}", "COPY": secret, "OTHER": "kept"],
            secret
        )
        #expect(try plan.launch().environment["MY_AUTH"] == secret)
        for value in SecretChange.Value.allCases {
            let launch = try plan.launch(
                SecretChange(secretNames: ["revenuecat-authorization"], value: value)
            )
            #expect(!launch.command.contains("'\(secret)'"))
            #expect(launch.environment["OTHER"] == "kept")
            for name in ["MY_AUTH", "COPY", "REVENUECAT_WEBHOOK_AUTH"] {
                let text = launch.environment[name]
                switch value {
                case .missing:
                    #expect(text == nil)
                    #expect(launch.removedVariables.contains(name))
                case .empty: #expect(text?.isEmpty == true)
                case .wrong: #expect(text?.count == secret.count && text != secret)
                }
            }
        }
    }
}
