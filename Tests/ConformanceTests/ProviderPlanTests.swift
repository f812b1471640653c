import Conformance
import Testing

@Suite("Planned responses")
struct ProviderPlanTests {
    @Test(
        "a planned response round-trips through text",
        arguments: ProviderPlan.PlannedResponse.words.map(\.answer)
            + [
                .status(200), .status(599), .slow(2000), .slow(1501), .hang(60_000), .busy(3000),
                .code("A B"),
            ]
    )
    func spellingIsReadBack(answer: ProviderPlan.PlannedResponse) {
        #expect(ProviderPlan.PlannedResponse(spelling: answer.spelling) == answer)
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
        #expect((ProviderPlan.PlannedResponse(spelling: text) != nil) == isWord)
    }
}
