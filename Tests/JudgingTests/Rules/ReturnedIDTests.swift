import Contracts
import Judging
import Providers
import TestSupport
import Testing
import Values

/// Effects to the IDs that logins returned, before backends that use another ID than the device's.
@Suite("Returned IDs")
struct ReturnedIDTests {
    private static let uid = "KBck0K1jlajKyqKbvto6FPrAdDVO"

    private func codes(_ rule: any Rule.Type, to recipient: String, isReturned: Bool)
        -> [FindingCode]
    {
        var effect = SampleContract.effect(1...1)
        effect.user = "ada"
        effect.allowedAddresses = .registered
        let evidence = EvidenceBuilder.bought(
            { $0.effects = [effect] },
            [EvidenceBuilder.push(to: recipient)]
        ).evidence { record in
            if isReturned {
                record.namespace.addReturnedID(Self.uid, of: "ada", among: record.plan.users)
            }
        }
        return rule.findings(in: evidence).map(\.code)
    }

    @Test func `a push to the ID that a login returned is a push to the user`() {
        #expect(codes(EffectRule.self, to: Self.uid, isReturned: true).isEmpty)
        #expect(codes(PushRule.self, to: Self.uid, isReturned: true).isEmpty)
        #expect(codes(EffectRule.self, to: Self.uid, isReturned: false) == [.wrongEffectCount])
        #expect(codes(PushRule.self, to: Self.uid, isReturned: false) == [.wrongRecipient])
        #expect(codes(EffectRule.self, to: "another", isReturned: true) == [.wrongEffectCount])
    }

    @Test func `an audience includes a user under any of the user's IDs`() {
        var namespace = Namespace(name: "n", idForm: .string)
        namespace.addReturnedID(Self.uid, of: "ada", among: ["ada", "bob"])
        var effect = EvidenceBuilder.push(to: Self.uid).effects[0]
        #expect(Audience(users: ["ada"]).isReachedExactly(by: effect, in: namespace))
        #expect(!Audience(users: ["bob"]).isReachedExactly(by: effect, in: namespace))
        effect.recipients.append(namespace.id(of: "ada"))
        #expect(Audience(users: ["ada"]).isReachedExactly(by: effect, in: namespace))
        effect.recipients.append(namespace.id(of: "bob"))
        #expect(!Audience(users: ["ada"]).isReachedExactly(by: effect, in: namespace))
    }

    @Test("every ID has one user, whatever logins return", arguments: 0..<50 as Range<UInt64>)
    func oneUser(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let users = ["ada", "bob", "cleo"]
        var namespace = Namespace(name: "n", idForm: .string)
        let ids = users.map(namespace.id(of:)) + ["u-1", "u-2", "u-3"]
        var firstUsers: [String: String] = [:]
        for _ in 0..<12 {
            guard let user = users.randomElement(using: &generator),
                let id = ids.randomElement(using: &generator)
            else { continue }
            namespace.addReturnedID(id, of: user, among: users)
            firstUsers[id] = firstUsers[id] ?? user
        }
        for user in users {
            let ownIDs = namespace.ids(of: user)
            #expect(ownIDs.contains(ExactText(namespace.id(of: user))))
            for other in users where other != user {
                #expect(ownIDs.isDisjoint(with: namespace.ids(of: other)))
            }
        }
        for (id, user) in firstUsers where id.hasPrefix("u-") {
            #expect(namespace.ids(of: user).contains(ExactText(id)))
        }
    }
}
