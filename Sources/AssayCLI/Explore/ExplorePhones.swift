internal import ArgumentParser
internal import Browser
internal import Exploration
internal import Foundation
internal import Replay
internal import Values

extension ExploreCommand {
    /// Runs a campaign of generated histories against an app on a simulated phone.
    func explorePhones(_ givenSetup: Setup) async throws {
        guard only.isEmpty, target.target == nil, target.start == nil else {
            throw CommandFailure(
                .usage,
                "--only, --target and --start apply only to a backend: remove them, or remove --app"
            )
        }
        let (profile, environment) = (givenSetup.profile, givenSetup.environment)
        let hosts = TargetOptions.hosts(target.allowHost, environment)
        let executor = try appOptions.executor(profile, hosts, "explore --app", environment)
        let loadedCorpus = try loadedCorpus(environment)
        let failuresFolder = loadedCorpus.failuresFolder
        let setup = givenSetup.savingFailingContracts(to: failuresFolder)
        let histories = setup.shardShare(of: loadedCorpus.contents.phoneHistories)
        let progressPrinter = ExploreProgress(
            loadedCorpus.corpus,
            known: loadedCorpus.contents.coverage
        )
        if !setup.files.usesStandardOutput {
            Terminal.error(
                "assay \(assayVersion) · seed \(setup.seed) · \(setup.limitDescription)\n"
                    + "app      \(executor.target)\n\n"
            )
        }
        setup.beginSavedRun(executor.target)
        let interruption = Interruption()
        let result = try await campaignResult(
            setup,
            executor,
            histories,
            interruption,
            onEvent: progressPrinter.report
        )
        await setup.savedRunFile?.end()
        progressPrinter.clearProgressLine()
        let commandWords = replayArguments(setup)
        let isCorpusSaved = progressPrinter.saveToCorpus(result.outcome)
        let outcome = try finishRun(
            result,
            setup,
            failuresFolder,
            contractRerunArguments: ["app"] + commandWords,
            rerunning: ["explore", "--app"] + commandWords,
            isInterrupted: interruption.hasReceivedSignal
        )
        if !setup.files.usesStandardOutput {
            let text = PhoneCoverageText(result.outcome)
            Terminal.output(coverage ? text.fullText : text.summary)
        }
        throw Self.exitCode(outcome, isCorpusSaved: isCorpusSaved)
    }

    /// Opens the app and runs the campaign.
    private func campaignResult(
        _ setup: Setup,
        _ executor: DeviceRun.Executor,
        _ histories: [PhoneHistory],
        _ interruption: Interruption,
        onEvent: @escaping @Sendable (Campaign.Event) -> Void
    ) async throws -> ExploreRun.Result {
        let (profile, options) = (setup.profile, setup.options)
        let began = SuiteRun.now()
        let start = ContinuousClock().now
        let deviceRun = DeviceRun(profile: profile, seed: setup.seed)
        let campaignRun = try await interruption.run {
            try await deviceRun.runWithApp(
                executor,
                began: began,
                onOpen: { chromium in interruption.onSecondSignal { chromium.end() } },
                { perform in
                    let clock = RealClock()
                    let inputExecutor = PhoneCampaign.InputExecutor(
                        profile: profile,
                        executorSet: executor.executorSet(profile),
                        options: options,
                        clock: clock,
                        perform: perform
                    )
                    return await PhoneCampaign(
                        inputExecutor: inputExecutor,
                        corpus: histories,
                        options: options,
                        clock: clock,
                        report: { event in
                            setup.save(event)
                            onEvent(event)
                        }
                    ).run()
                }
            )
        }
        return ExploreRun.Result(
            outcome: campaignRun.value,
            target: executor.target,
            began: began,
            seconds: Double((ContinuousClock().now - start).milliseconds) / 1000,
            notes: campaignRun.notes
        )
    }

    private func replayArguments(_ setup: Setup) -> [String] {
        var commandWords: [String] = []
        if let path = Setting.profile.text(target.profile, setup.environment) {
            commandWords += ["--profile", path]
        }
        commandWords += appOptions.replayArguments(setup.environment)
        for host in TargetOptions.hosts(target.allowHost, setup.environment) {
            commandWords += ["--allow-host", host]
        }
        return commandWords
    }
}
