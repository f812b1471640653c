internal import Foundation

/// File operations whose errors end a command.
extension FileManager {
    /// Returns the names of the entries of a folder in alphabetical order; empty when the folder
    /// does not exist.
    ///
    /// - Throws: A usage failure when the folder cannot be read.
    func sortedNames(inFolder path: String) throws(CommandFailure) -> [String] {
        guard fileExists(atPath: path) else { return [] }
        do {
            return try contentsOfDirectory(atPath: path).sorted()
        } catch {
            throw CommandFailure(.usage, "cannot read the folder '\(path)': \(error.plainReason)")
        }
    }

    /// Removes a file; does nothing when the file does not exist.
    ///
    /// - Throws: An output failure when the file cannot be removed.
    func removeIfPresent(_ path: String) throws(CommandFailure) {
        guard fileExists(atPath: path) else { return }
        do {
            try removeItem(atPath: path)
        } catch {
            throw CommandFailure(.outputFailed, "cannot remove '\(path)': \(error.plainReason)")
        }
    }
}
