internal import ArgumentParser
internal import Providers
internal import Values

struct ResendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resend",
        abstract: "Resends an event that 'assay serve' has sent.",
        discussion: """
            The event keeps its ID and its time. The timestamp and the signature of the request \
            are new, as with the Retry button of RevenueCat's dashboard.

            Example:  assay resend 68E9D7B2-D9C0-4570-A0AB-2DD095ED7672
            """
    )

    @Argument(help: "The ID of the event.")
    var event: String

    @Option(name: .long, help: "Send only to this webhook configuration.")
    var webhook: String?

    @Option(name: .long, help: "The URL of the control API.")
    var control = ControlClient.defaultURL

    @Option(name: .long, help: "A host other than loopback that may be called.")
    var allowHost: [String] = []

    mutating func run() async throws {
        let client = try ControlClient(control, allowed: allowHost)
        let reply = try await client.post(
            "/deliveries/\(event.percentEncoded)/resend",
            .present([("configuration", webhook.map(JSONValue.string))])
        )
        if !ControlClient.printDeliveriesAndCheckSuccess(reply) {
            throw ExitCode(ExitStatus.failures.rawValue)
        }
    }
}
