import Conformance
import Exploration
import Testing

/// Lives as files, and what makes two of them one cause.
struct LifeTextTests {
    private static let text = """
        life 1
        person ada registered
        person bob unknown
        twin
        act 0 -3d ada purchase product=premium_monthly store=APP_STORE period=TRIAL quiet
        act 1 -2d ada change-product product=premium_monthly to=premium_yearly deferred
        act 2 -1d bob transfer from=ada known-by=aliases
        mishap 1.0 late 2
        mishap 2.0 push-fails slow 3s
        mishap 2.0 crash KILL early

        """

    @Test func `a file that somebody wrote is read and written as the same`() throws {
        let life = try LifeText.life(Self.text)
        #expect(LifeText.text(life) == Self.text)
        #expect(life.people.map(\.arrival) == [.registered, .unknown])
        #expect(life.steps[0].isQuietPoint)
        #expect(life.steps[1].act.isDeferred)
        #expect(life.steps[2].act.from == "ada")
        #expect(life.mishaps[0].disturbance == .late(by: 2))
    }

    @Test(
        "a line that says nothing is named",
        arguments: [
            ("person ada", "a person is"), ("act 0 -3d ada", "an act is"),
            ("act 0 soon ada purchase", "an act is"), ("act 0 -3d ada eat", "'eat' is no act"),
            ("act 0 -3d ada cancel colour=red", "'colour=red' says nothing"),
            ("act 0 -3d ada cancel span=long", "'span=long' says nothing"),
            ("mishap 0 late 2", "a mishap is"), ("mishap 0.0 late", "a mishap is"),
            ("mishap 0.0 late 0", "a mishap is"), ("mishap 0.0 crash KILL", "a mishap is"),
            ("mishap 0.0 shuffled twice", "a mishap is"), ("wish peace", "'wish' is none of"),
        ]
    )
    func isRefused(line: String, problem: String) {
        let error = #expect(throws: LifeText.ParseError.self) {
            try LifeText.life("life 1\nperson ada registered\n" + line)
        }
        #expect(error?.line == 3)
        #expect(error?.problem.contains(problem) == true, "\(error?.problem ?? "")")
        #expect(error?.isOfAnotherVersion == false)
    }

    @Test func `another version is told as that`() {
        for text in ["life 2\nperson ada registered\n", "", "{}"] {
            let error = #expect(throws: LifeText.ParseError.self) { try LifeText.life(text) }
            #expect(error?.isOfAnotherVersion == true)
        }
    }

    // MARK: Causes

    private static func life(_ acts: [(Act.Kind, String)], _ mishaps: [Disturbance] = []) -> Life {
        Life(
            people: [Life.Person("ada", .registered)],
            steps: acts.enumerated().map { index, act in
                var made = Act(act.0, "ada", at: .seconds(-1000 + index))
                made.product = act.1
                return Life.Step(id: index, act: made, isQuietPoint: false)
            },
            mishaps: mishaps.map { Life.Mishap(act: 0, event: 0, $0) }
        )
    }

    @Test func `a smaller life explains one in which all of it happens, and no other`() {
        let monthly = "premium_monthly"
        let small = Self.life([(.purchase, monthly), (.refund, monthly)], [.late(by: 1)])
        let large = Self.life(
            [(.purchase, monthly), (.cancel, monthly), (.refund, monthly)],
            [.shuffled, .late(by: 3)]
        )
        #expect(large.contains(small))
        #expect(!small.contains(large))
        // Undisturbed, the other way round, or of something that is kept, it is another story.
        #expect(!Self.life([(.purchase, monthly), (.refund, monthly)]).contains(small))
        #expect(
            !Self.life([(.refund, monthly), (.purchase, monthly)], [.late(by: 1)]).contains(small)
        )
        let kept = "premium_lifetime"
        #expect(!Self.life([(.purchase, kept), (.refund, kept)], [.late(by: 1)]).contains(small))
    }

    @Test func `the title says what happens, and the clause what is asked`() throws {
        let life = Self.life(
            [(.purchase, "premium_monthly"), (.refund, "premium_monthly")],
            [.late(by: 1)]
        )
        #expect(life.title == "Ada buys, is refunded; delivered late")
        #expect(life.clause == "S-09")
        var calm = life
        calm.mishaps = []
        #expect(calm.clause == "S-11")
        #expect(life.slug == "purchase-refund-late")
    }

    @Test func `what no store does is no life`() {
        let means = Means(features: [.subscription], showsState: true, choosesIDs: false)
        func refused(_ acts: [(Act.Kind, String)]) -> Bool {
            (try? LifeScript(Self.life(acts), means)) == nil
        }
        #expect(!refused([(.purchase, "premium_monthly")]))
        #expect(refused([(.cancel, "premium_monthly")]))
        #expect(refused([(.purchase, "premium_monthly"), (.resume, "premium_monthly")]))
        #expect(refused([(.purchase, "premium_lifetime"), (.cancel, "premium_lifetime")]))
        #expect(refused([(.purchase, "premium_monthly"), (.purchase, "premium_monthly")]))
    }
}
