import Conformance
import Exploration
import FakeServers
import Phone
import Testing

@testable import Replay

/// Lives of an app on a machine that has no time for all that are played at once.
@Suite("Campaigns of a phone")
struct PhoneCampaignTests {
    /// The built-in app on a machine that has time for so many lives at once.
    private struct Machine: Sendable {
        let places: Int
        var time: Duration?
        let machine = SimulatedMachine(seed: 0, load: Bench.exact)
        let playing = Locked(0)
        let plays = Locked<[(count: Int, isStarved: Bool)]>([])

        func run() -> Campaign.Outcome? {
            let clock = SimulatedClock(machine: machine)
            var options = Campaign.Options(seed: 3, jobs: 16, nonce: "seed")
            options.livesMax = 40
            options.time = time
            let (places, playing, plays) = (places, playing, plays)
            let player = PhoneCampaign.Player(
                profile: Profile(),
                cast: .scripted,
                options: options,
                clock: clock
            ) { plan, name, _ in
                playing.withLock { $0 += 1 }
                await clock.pause(.seconds(1))
                // As many as there are at its end; they have begun at one moment.
                let count = playing.withLock { $0 }
                await clock.pause(.seconds(1))
                playing.withLock { $0 -= 1 }
                plays.withLock { $0.append((count, count > places)) }
                var record = await Simulation.run(
                    plan.subject,
                    name: name,
                    profile: Profile(),
                    base: SimulatedClock.start
                )
                if count > places {
                    record.starvation = .init(longest: .seconds(2), lost: .seconds(2))
                }
                return record
            }
            let campaign = PhoneCampaign(player: player, options: options, clock: clock) { _ in }
            return machine.run { await campaign.run() }
        }
    }

    @Test("what starved is played again, with fewer beside it", arguments: 1...3)
    func starved(places: Int) throws {
        let machine = Machine(places: places)
        let outcome = try #require(machine.run())
        let plays = machine.plays.withLock { $0 }
        let starvedCount = plays.count(where: \.isStarved)
        #expect(starvedCount > 0, "the beginning is too many for \(places)")
        #expect(outcome.progress.lives == 40)
        #expect(outcome.inconclusive.isEmpty, "each told something at last")
        #expect(outcome.found.isEmpty)
        #expect(outcome.end == nil)
        #expect(plays.count == 40 + starvedCount)
    }

    @Test func `a machine without any time is told, and each life had it alone at last`() throws {
        let machine = Machine(places: 0)
        let outcome = try #require(machine.run())
        let lives = outcome.progress.lives
        #expect(outcome.inconclusive == ["E913 machine-busy": lives])
        let alone = machine.plays.withLock { $0.count { $0.count == 1 } }
        #expect(alone >= lives)
        #expect(outcome.end?.contains("machine-busy") == true, "\(outcome.end ?? "")")
    }

    @Test func `when the time is over, what is left told nothing`() throws {
        let machine = Machine(places: 0, time: .seconds(2))
        let outcome = try #require(machine.run())
        #expect(outcome.progress.lives == 4)
        #expect(outcome.inconclusive == ["E913 machine-busy": 4])
        #expect(machine.plays.withLock { $0.count } == 4)
    }

    @Test func `a machine with time for all plays as many as it may`() throws {
        let machine = Machine(places: 16)
        let outcome = try #require(machine.run())
        #expect(outcome.inconclusive.isEmpty)
        #expect(machine.plays.withLock { $0.map(\.count).max() } == 16)
    }
}
