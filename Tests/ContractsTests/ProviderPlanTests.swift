import Contracts
import Providers
import Testing

@Suite("Planned responses")
struct ProviderPlanTests {
    @Test(
        "a planned response round-trips through text",
        arguments: ProviderPlan.PlannedResponse.words.map(\.response)
            + [
                .status(200), .status(599), .slow(2000), .slow(1501), .hangThenReset(60_000),
                .tooManyRequests(3000),
                .code("A B"),
            ]
    )
    func spellingIsReadBack(response: ProviderPlan.PlannedResponse) {
        #expect(ProviderPlan.PlannedResponse(notation: response.notation) == response)
    }

    @Test(
        "an invalid response is refused",
        arguments: [
            "", "199", "600", "0500", "slow 2", "slow -2s", "hang", "code", "code ", "code  A",
            "okay", "busy", "busy 0s", "busy 300ms",
        ]
    )
    func refuses(text: String) {
        let isWord = ProviderPlan.PlannedResponse.words.contains { $0.word == text }
        #expect((ProviderPlan.PlannedResponse(notation: text) != nil) == isWord)
    }
}
