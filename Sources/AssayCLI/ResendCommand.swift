internal import ArgumentParser
internal import Conformance
internal import Providers

struct ResendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resend",
        abstract: "Sends an event again that a running 'assay serve' has sent before.",
        discussion: """
            The id and the time of the event stay; timestamp and signature are made anew, as with \
            the dashboard's Retry button.

            Example:  assay resend 68E9D7B2-D9C0-4570-A0AB-2DD095ED7672
            """
    )

    @Argument(help: "The event's id.")
    var event: String

    @Option(name: .long, help: "Only to this webhook configuration.")
    var webhook: String?

    @Option(name: .long, help: "The control API.")
    var control = ControlClient.defaultURL

    @Option(name: .long, help: "A host other than loopback that may be called.")
    var allowHost: [String] = []

    mutating func run() async throws {
        let client = try ControlClient(control, allowed: allowHost)
        let answer = try await client.post(
            "/deliveries/\(event.percentEncoded)/resend",
            .present([("configuration", webhook.map(JSONValue.string))])
        )
        if !ControlClient.show(answer) { throw ExitCode(ExitStatus.failures.rawValue) }
    }
}
