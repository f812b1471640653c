import Contracts
import Grammar
import TestSupport
import Testing
import Values

/// The template names that each place of a contract and of a profile knows.
@Suite("Places of templates")
struct TemplateSlotTests {
    private static let places: [(TemplateScope.ContractSlot, [String], [String])] = [
        (
            .request,
            [
                "user.ada", "anonymous.bob", "device.ada", "event-id.purchase", "account.home",
                "password.home", "now", "now+30d", "date-1h", "some.token1", "long.101", "copies",
                "copies-1",
            ],
            [
                "usr.ada", "user.adda", "user", "user.", "event-id.first", "account.ada", "seconds",
                "id-token.ada", "any", "first.proof", "purchase.price", "now+30", "now1h",
                "nowhere",
                "long.0", "long.x", "long.100001", "copies+x", "", "port",
            ]
        ),
        (.header, ["id-token.ada", "user.ada"], ["id-token.cleo", "any", "first.proof"]),
        (
            .call, ["first.proof", "long.4000", "user.ada"],
            ["second.proof", "id-token.ada", "any"]
        ),
        (.claim, ["seconds", "seconds-1h", "user.ada", "long.129"], ["now", "now-1h", "date"]),
        (.answer, ["any", "any.uuid", "some.x", "date"], ["any.uid", "seconds", "id-token.ada"]),
        (.state, ["purchase.expiration_at_ms", "account.home", "now"], ["first.price", "some.x"]),
        (.phone, ["user.ada", "account.home"], ["some.x", "any", "first.proof"]),
        (
            .userID, ["first.id", "user.ada", "anonymous.bob"],
            ["second.id", "purchase.id.x", "first.proof", "some.x"]
        ),
        (.value, ["user.ada", "now"], ["some.x", "any", "first.id"]),
        (.none, ["copies", "copies+1"], ["user.ada", "now", "copy"]),
    ]

    @Test("a place knows its own names and no others", arguments: places)
    func scopes(place: TemplateScope.ContractSlot, known: [String], unknown: [String]) {
        let scope = TemplateScope(place, names: SampleContract.names)
        for name in known { #expect(scope.problems(in: "{{\(name)}}").isEmpty, "\(name)") }
        for name in unknown {
            let problems = scope.problems(in: "ü {{\(name)}}!")
            #expect(problems.map(\.name) == [name])
            #expect(problems.map(\.offset) == [2])
            #expect(problems.map(\.length) == [name.count + 4])
        }
    }

    @Test func `every place has a test`() {
        #expect(Set(Self.places.map(\.0)) == Set(TemplateScope.ContractSlot.allCases))
    }

    @Test func `a profile's places know their names`() {
        let known: [(TemplateScope.ProfileSlot, String, String)] = [
            (.start, "{{port}}{{data}}{{fake.onesignal}}{{secret.onesignal-key}}", "{{prt}}"),
            (.endpoint, "{{id}}{{account}}{{proof}}{{id-token}}", "{{uid}}"),
            (.creation, "{{id}}{{id-token}}", "{{account}}"),
            (.account, "{{account}}{{password}}{{id-token}}", "{{id}}"),
            (.probe, "{{id}}", "{{device}}"),
            (.clock, "{{now}}{{now-ms}}{{ahead}}", "{{seconds}}"),
            (.accessPath, "{{id}}", "{{access}}"),
            (.accessAnswer, "{{access}}{{product}}", "{{id}}"),
            (.login, "/login", "{{id}}"), (.userLogin, "{{id}}{{device}}", "{{account}}"),
            (
                .endpointCredential, "{{account}} {{id-token}} {{session}} {{user-session}}",
                "{{token}}"
            ),
            (.creationCredential, "{{id}} {{session}}", "{{account}}"),
            (.accountCredential, "{{account}} {{session}}", "{{id}}"),
            (.clockCredential, "{{ahead}} {{session}}", "{{id}}"),
            (
                .probeCredential, "{{id}} {{id-token}} {{session}} {{user-session}}",
                "{{account}}"
            ),
            (.operatorCredential, "{{session}}", "{{id}}"), (.none, "/hook", "{{port}}"),
        ]
        #expect(Set(known.map(\.0)) == Set(TemplateScope.ProfileSlot.allCases))
        for (place, good, bad) in known {
            #expect(TemplateScope(place).problems(in: good).isEmpty, "\(place)")
            #expect(TemplateScope(place).problems(in: bad).count == 1, "\(place)")
        }
    }

    @Test func `the credentials of a request know all names of its path and body`() {
        let places: [(TemplateScope.ProfileSlot, TemplateScope.ProfileSlot)] = [
            (.endpoint, .endpointCredential), (.creation, .creationCredential),
            (.account, .accountCredential), (.clock, .clockCredential),
            (.probe, .probeCredential), (.none, .operatorCredential),
        ]
        for (request, credential) in places {
            let known = Set(credential.words.map(\.word))
            #expect(known.isSuperset(of: request.words.map(\.word)), "\(request)")
            #expect(known.contains("session"), "\(request)")
        }
    }

    @Test("filling leaves no name of its scope", arguments: TemplateScope.ContractSlot.allCases)
    func fillsAll(place: TemplateScope.ContractSlot) {
        var values = TemplateValuesTests.values
        let scope = TemplateScope(place, names: SampleContract.names)
        let examples =
            scope.words.flatMap { $0.examples(SampleContract.names) }
            .filter { !$0.hasPrefix("any") }
            + (place == .none ? [] : place == .claim ? ["seconds+1h"] : ["now+1h", "date-30d"])
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            let names = (0..<4).compactMap { _ in examples.randomElement(using: &generator) }
            let text = names.map { "{{\($0)}}" }.joined(separator: " {{{{ ")
            #expect(scope.problems(in: text).isEmpty, "\(text)")
            #expect(Template(values.fill(text).replacing("{{ ", with: "")).names.isEmpty, "\(text)")
            let whole = values.fill(JSONValue.array(names.map { JSONValue.string("{{\($0)}}") }))
            #expect(!whole.text.contains("{{"), "\(text)")
        }
    }
}
