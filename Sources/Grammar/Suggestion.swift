/// Finds the word in a list that is most similar to a misspelled word, for "Did you mean …".
package enum Suggestion {
    /// Returns the candidate with the smallest edit distance to a word; nil when no candidate is
    /// similar enough.
    ///
    /// At most a third of the word's letters may differ. One letter may always differ, and two
    /// letters in a word of five or more letters.
    ///
    /// Candidates whose length differs too much are skipped, so that a word of thousands of letters
    /// costs little time.
    package static func nearest(to word: String, among candidates: [String]) -> String? {
        let count = word.count
        let distanceMax = max(count > 4 ? 2 : 1, count / 3)
        let closestCandidate = candidates.filter { abs($0.count - count) <= distanceMax }
            .map { (editDistance(word, $0), $0) }.min { $0.0 < $1.0 }
        guard let closestCandidate, closestCandidate.0 <= distanceMax else { return nil }
        return closestCandidate.1
    }

    private static func editDistance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.lowercased()), Array(right.lowercased()))
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (position, other) in right.enumerated() {
                let replacementDistance = diagonal + (letter == other ? 0 : 1)
                diagonal = row[position + 1]
                row[position + 1] = min(replacementDistance, diagonal + 1, row[position] + 1)
            }
        }
        return row[right.count]
    }
}
