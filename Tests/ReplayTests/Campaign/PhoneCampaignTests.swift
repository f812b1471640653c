import Contracts
import Exploration
import FakeServers
import Phone
import TestBackend
import Testing
import Values

@testable import Replay

/// Lives of an app on a machine that has no time for all that are played at once.
@Suite("Phone campaigns")
struct PhoneCampaignTests {
    /// The built-in app on a machine that has time for so many lives at once.
    private struct StarvedCampaign: Sendable {
        let places: Int
        var time: Duration?
        let machine = SimulatedMachine(seed: 0, load: .exact)
        let playing = Locked(0)
        let plays = Locked<[(count: Int, isStarved: Bool)]>([])

        func run() -> Campaign.Outcome? {
            let clock = SimulatedClock(machine: machine)
            var options = Campaign.Options(seed: 3, jobs: 16, nonce: "seed")
            options.historyCountMax = 40
            options.time = time
            let (places, playing, plays) = (places, playing, plays)
            let inputExecutor = PhoneCampaign.InputExecutor(
                profile: Profile(),
                executorSet: .scripted,
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
                    record.starvation = .init(longestPause: .seconds(2), lostTime: .seconds(2))
                }
                return record
            }
            let campaign = PhoneCampaign(
                inputExecutor: inputExecutor,
                options: options,
                clock: clock
            ) { _ in }
            return machine.run { await campaign.run() }
        }
    }

    @Test("a starved history reruns with less concurrency", arguments: 1...3)
    func starved(places: Int) throws {
        let machine = StarvedCampaign(places: places)
        let outcome = try #require(machine.run())
        let plays = machine.plays.withLock { $0 }
        let starvedCount = plays.count(where: \.isStarved)
        #expect(starvedCount > 0, "the beginning is too many for \(places)")
        #expect(outcome.progress.histories == 40)
        #expect(outcome.inconclusive.isEmpty, "each told something at last")
        #expect(outcome.found.isEmpty)
        #expect(outcome.end == nil)
        #expect(plays.count == 40 + starvedCount)
    }

    @Test
    func `a permanently starved machine is reported, and each history finally ran exclusively`()
        throws
    {
        let machine = StarvedCampaign(places: 0)
        let outcome = try #require(machine.run())
        let histories = outcome.progress.histories
        #expect(outcome.inconclusive == ["E913 machine-busy": histories])
        let alone = machine.plays.withLock { $0.count { $0.count == 1 } }
        #expect(alone >= histories)
        #expect(outcome.end?.contains("machine-busy") == true, "\(outcome.end ?? "")")
    }

    @Test func `after the time limit the remaining histories are inconclusive`() throws {
        let machine = StarvedCampaign(places: 0, time: .seconds(2))
        let outcome = try #require(machine.run())
        #expect(outcome.progress.histories == 4)
        #expect(outcome.inconclusive == ["E913 machine-busy": 4])
        #expect(machine.plays.withLock { $0.count } == 4)
    }

    @Test func `an idle machine runs the maximum number concurrently`() throws {
        let machine = StarvedCampaign(places: 16)
        let outcome = try #require(machine.run())
        #expect(outcome.inconclusive.isEmpty)
        #expect(machine.plays.withLock { $0.map(\.count).max() } == 16)
    }
}
