import ContractFiles
import Grammar
import Testing

@Suite("Renamed words")
struct RenamedWordTests {
    /// A contract or a profile with an old word, by the old word.
    private static let files: [String: String] = [
        "along": contract(delivery: "along: ladder"),
        "answer": contract(delivery: "answer: 200"),
        "answers": contract(expect: "answers: 200"),
        "beside": contract(delivery: "beside: next"),
        "cut-requests": contract(delivery: "cut-requests: 1"),
        "half": contract(step: "onesignal: {responses: [half]}"),
        "hang-ups": contract(delivery: "hang-ups: 1"),
        "ladder": contract(delivery: "retry: ladder"),
        "late": contract(step: "bridge: {late: setvault}"),
        "look": contract(step: "look: ada"),
        "lose-answer": contract(step: "onesignal: {responses: [lose-answer]}"),
        "lose-answer-of": contract(step: "onesignal: {lose-answer-of: 1}"),
        "lose-answers": contract(delivery: "lose-answers: 1"),
        "moment": contract(step: "restart: {during: p, moment: sent}"),
        "never": contract(step: "onesignal: {responses: [never]}"),
        "pass": contract(step: "pass: p"),
        "patience": "assay: 1\npatience: 5s\n",
        "promises": contract(expect: "app: {promises: [silent]}"),
        "says": contract(expect: "effects: [{onesignal: notification, says: {a: 1}}]"),
        "shuffled": contract(delivery: "keys: shuffled"),
        "store-fails": contract(delivery: "store-fails: 1"),
        "strangers": "strangers: [eve]\n" + contract(),
        "told": contract(delivery: "told: RENEWAL"),
        "text-ids": "needs: [text-ids]\n" + contract(),
        "undisturbed": contract(expect: "like: undisturbed"),
    ]

    private static func contract(
        delivery: String = "times: 1",
        step: String = "register: bob",
        expect: String = "within: 5s"
    ) -> String {
        """
        contract: a/b
        title: A title
        clause: S-03
        source: a test
        given:
          - register: ada
        steps:
          - deliver: p
            event: {type: INITIAL_PURCHASE, user: ada}
            \(delivery)
          - \(step)
        expect:
          \(expect)
        """
    }

    @Test func `every renamed word is tested`() {
        #expect(Set(Self.files.keys) == Set(RenamedWord.allOldNames))
    }

    @Test("an old word is an error that names the new word", arguments: RenamedWord.allOldNames)
    func renamed(word: String) throws {
        let text = try #require(Self.files[word])
        let errors: [ContractError]
        if text.hasPrefix("assay:") {
            errors = Self.errors(ProfileParser.parse(text, path: "assay.yaml", environment: [:]))
        } else {
            errors = Self.errors(ContractParser.parse(text, path: "a/b.yaml", id: "a/b"))
        }
        let remedies = errors.map(\.remedy)
        #expect(remedies.contains { $0.hasPrefix("'\(word)' was renamed: write '") }, "\(errors)")
    }

    private static func errors<Value>(_ result: Result<Value, ContractErrors>) -> [ContractError] {
        if case .failure(let failure) = result { failure.errors } else { [] }
    }
}
