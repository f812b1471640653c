internal import ArgumentParser
internal import Contracts
internal import Foundation
internal import Reports

/// The option `--watch`: repeats the run after every change of a watched file.
extension VerifyCommand {
    /// Runs the contracts, and runs them again after every change of a watched file, until Ctrl-C.
    ///
    /// The exit code is that of the last run.
    func runAfterEachChange() async throws {
        let interruption = Interruption()
        // With `--rerun-failed`, the cases that had failed before this command started are repeated
        // after every change, even when they pass in between.
        let lastRunFolder = LastRun.folder(TargetOptions.path(target.profile))
        let lastRun = rerun.rerunFailed ? try LastRun.read(lastRunFolder) : nil
        var hasRun = false
        while true {
            let watch = fileWatch()
            let snapshotBeforeRun = watch.snapshot()
            var commandCopy = self
            var runEndError: any Error = ExitCode(0)
            FileWriteFailures.reset()
            do {
                try await commandCopy.runOnce(interruption, lastRun)
            } catch let failure as CommandFailure where !interruption.hasReceivedSignal {
                // A usage error in the first run can only be fixed on the command line. In a later
                // run it may come from a file that is being edited, so the loop continues.
                guard hasRun || failure.status != .usage else { throw failure }
                Terminal.message(failure.description)
                runEndError = ExitCode(failure.status.rawValue)
            } catch {
                runEndError = error
            }
            hasRun = true
            let snapshotAfterRun = watch.snapshot()
            let userChanges = watch.changesByUser(snapshotBeforeRun, snapshotAfterRun)
            var changedPaths = userChanges
            if changedPaths.isEmpty, !interruption.hasReceivedSignal {
                try printWaiting(
                    watch,
                    snapshotAfterRun,
                    FileWatch.changes(snapshotBeforeRun, snapshotAfterRun)
                )
                changedPaths = try await interruption.run {
                    await watch.waitForChanges(from: snapshotAfterRun)
                }
            }
            if interruption.hasReceivedSignal { throw runEndError }
            let moreText = changedPaths.count > 1 ? " and \(changedPaths.count - 1) more" : ""
            Terminal.error("\nchanged: \(changedPaths[0].printable)\(moreText)\n\n")
        }
    }

    private func printWaiting(
        _ watch: FileWatch,
        _ watchedFiles: FileWatch.Snapshot,
        _ skippedContracts: [String]
    ) throws {
        guard !watchedFiles.isEmpty else {
            throw CommandFailure(
                .usage,
                "--watch finds no file to watch: give --start, a profile, or contract files"
            )
        }
        if let first = skippedContracts.first {
            let moreText =
                skippedContracts.count > 1 ? " and \(skippedContracts.count - 1) more" : ""
            Terminal.error(
                "\nignored a change, which the backend may have made: \(first.printable)\(moreText)\n"
            )
        }
        let limitNote =
            watchedFiles.count >= FileWatch.fileCountMax ? " (the limit; more files exist)" : ""
        let count = "\(watchedFiles.count) file\(watchedFiles.count == 1 ? "" : "s")"
        Terminal.error("\nwatching \(count)\(limitNote); press Ctrl-C to end\n")
    }

    private func fileWatch() -> FileWatch {
        // The run has reported a profile that cannot be read.
        let profile = try? target.resolvedProfile()
        let path = TargetOptions.path(target.profile)
        let contracts = paths.isEmpty ? selection.contractsFolders : paths
        let start = profile?.start
        // A profile that cannot be parsed at this moment is still watched.
        let editedPaths =
            [path, path.map(DotEnv.path), profile?.knownFailuresPath].compactMap(\.self)
        let outputPaths =
            [
                ci.baseline, Setting.save.text(results.save),
                Setting.found.text(results.found) ?? GeneratedFolder.found,
            ]
            .compactMap(\.self) + ReportFiles.paths(Setting.report.texts(reports.report))
        return FileWatch(
            editedPaths: editedPaths + contracts,
            backend: start.map { $0.folder ?? "." },
            outputPaths: outputPaths
        )
    }
}
