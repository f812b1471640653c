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

    @Test("variables of a file come last, and no changed start contains the secret")
    func fileVariables() throws {
        let secret = "s3cret-9"
        var start = Profile.StartSettings(
            command: "serve",
            environment: ["LEVEL": "profile", "MY_AUTH": "{{secret.revenuecat-authorization}}"]
        )
        start.fileVariables = [
            "LEVEL": "file", "PORT": "8000", "COPY": "Bearer " + secret, "MY_AUTH": "other",
            "TEXT": "{{not a template}} ${X}",
        ].mapValues { Secret($0) }
        let plan = BackendLaunchPlan(
            start,
            ["port": "1", "data": "d", "secret.revenuecat-authorization": secret],
            BackendSetup(
                addresses: [:],
                secrets: [.revenueCatAuthorization: Secret(secret)],
                project: "p",
                isSigned: false
            )
        )
        let environment = try plan.launch().environment
        let expected = [
            "LEVEL": "profile", "PORT": "1", "COPY": "Bearer " + secret, "MY_AUTH": secret,
            "TEXT": "{{not a template}} ${X}",
        ]
        for (name, value) in expected { #expect(environment[name] == value, "\(name)") }
        for value in SecretChange.Value.allCases {
            let launch = try plan.launch(
                SecretChange(secretNames: ["revenuecat-authorization"], value: value)
            )
            #expect(!launch.environment.values.contains { $0.contains(secret) }, "\(value)")
            #expect((launch.environment["COPY"] == nil) == (value == .missing))
            #expect(launch.removedVariables.contains("COPY") == (value == .missing))
        }
    }
}
