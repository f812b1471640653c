internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import Foundation
internal import Providers
internal import Replay

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Sends one RevenueCat event to a URL, as RevenueCat would.",
        discussion: """
            Example:  assay send INITIAL_PURCHASE --to http://127.0.0.1:8080/api/webhooks/revenuecat
                      assay send TRANSFER --from ada --user bob --print
                      assay send RENEWAL --user ada     (through a running 'assay serve')
            """
    )

    @Argument(help: "The event type, for example RENEWAL; any text for an unknown one.")
    var type: String

    @Option(name: .long, help: "The webhook's URL; without it the webhooks of 'assay serve'.")
    var to: String?

    @Option(name: .long, help: "The control API of 'assay serve'.")
    var control = ControlClient.defaultURL

    @Option(name: .long, help: "The customer's app_user_id, as it stands.")
    var user: String = "assay-user"

    @Option(name: .long, help: "TRANSFER: the id that loses.")
    var from: String?

    @Option(name: .long, help: "The product.")
    var product = "premium_monthly"

    @Option(name: .long, help: "The store, for example PLAY_STORE.")
    var store = "APP_STORE"

    @Option(name: .long, help: "PRODUCTION or SANDBOX.")
    var environment = "PRODUCTION"

    @Option(name: .long, help: "cancel_reason or expiration_reason.")
    var reason: String?

    @Option(name: .long, help: "End of the period, for example +30d or -1h; 'never' for none.")
    var expires: String?

    @Option(
        name: .long,
        help: "The whole Authorization value (default: REVENUECAT_WEBHOOK_AUTH)."
    )
    var authorization: String?

    @Option(name: .long, help: "The signing secret (default: REVENUECAT_WEBHOOK_SECRET).")
    var signingSecret: String?

    @Option(name: .long, help: "How often the same bytes are sent.")
    var times = 1

    @Option(name: .long, help: "A host other than loopback that may be called.")
    var allowHost: [String] = []

    @Flag(name: .long, help: "Print the body and send nothing.")
    var print = false

    mutating func run() async throws {
        let body = try body()
        if print {
            Terminal.output(body.prettyText + "\n")
            return
        }
        guard let to else {
            let client = try ControlClient(control, allowed: allowHost)
            let answer = try await client.post(
                "/events",
                ["event": body["event"] ?? .null, "settle": true]
            )
            guard ControlClient.show(answer) else {
                throw ExitCode(ExitStatus.failures.rawValue)
            }
            return
        }
        guard (1...1000).contains(times) else {
            throw Failure(.usage, "--times takes 1 to 1000")
        }
        let url = try TargetURL(to, flag: "--to", allowed: allowHost)
        let variables = ProcessInfo.processInfo.environment
        let sender = WebhookSender(
            path: url.target,
            authorization: (authorization ?? variables["REVENUECAT_WEBHOOK_AUTH"]).map(Secret.init),
            signingKey: (signingSecret ?? variables["REVENUECAT_WEBHOOK_SECRET"]).map(Secret.init)
        )
        let client = BackendClient(base: url.base, laneCount: 1)
        var allTaken = true
        for number in 1...times {
            let request = sender.request(body: body.bytes, at: SuiteRun.now())
            Terminal.output(
                "--> \(type) \(body["event"]?["id"]?.string ?? "") to \(to)"
                    + (times > 1 ? "  (\(number) of \(times))" : "") + "\n"
            )
            switch await client.send(request, within: RetrySchedule.revenueCat.answerMax) {
            case .answered(let response):
                let isTaken = RetrySchedule.revenueCat.isSuccess(response.status)
                allTaken = allTaken && isTaken
                Terminal.output(
                    "<-- \(response.status)"
                        + (isTaken ? "\n" : "  RevenueCat takes 200 only and would try again\n")
                )
            case .failed(.refused, let text):
                throw Failure(.unreachable, "\(to): \(text)")
            case .failed(_, let text):
                allTaken = false
                Terminal.output("<-- \(text)\n")
            case .pending, .answerLost, .requestCut:
                allTaken = false
            }
        }
        await client.close()
        if !allTaken { throw ExitCode(ExitStatus.failures.rawValue) }
    }

    private func body() throws -> JSONValue {
        guard !type.isEmpty else { throw Failure(.usage, "the event type is empty") }
        if !EventSpec.types.contains(type),
            let near = Suggestion.nearest(
                to: type,
                among: EventSpec.types
            )
        {
            Terminal.error("assay: '\(type)' is sent as an unknown type; did you mean \(near)?\n")
        }
        guard EventSpec.stores.contains(store) else {
            throw Failure(
                .usage,
                "--store '\(store)' is none of \(EventSpec.stores.joined(separator: ", "))"
            )
        }
        var namespace = Namespace(name: SuiteRun.nonce(), idForm: .string)
        namespace.assign(user, to: "user")
        if let from { namespace.assign(from, to: "loser") }
        var spec = EventSpec(type: type, user: "user", product: product)
        spec.store = store
        spec.environment = environment
        spec.reason = reason
        if type == "TRANSFER" {
            guard from != nil else { throw Failure(.usage, "TRANSFER needs --from ID") }
            spec.from = ["loser"]
            spec.to = ["user"]
            spec.user = nil
        }
        if let expires {
            if expires == "never" {
                spec.isLifetime = true
            } else if let offset = Duration(contractText: expires) {
                spec.expires = offset
            } else {
                throw Failure(.usage, "--expires '\(expires)' is not a duration such as +30d")
            }
        }
        let context = EventFactory.Context(namespace: namespace, base: SuiteRun.now())
        return EventFactory(context).body(spec, name: "sent")
    }
}
