/// Finds dates inside strings, in digits or in English words: `24.11.2026`, `Tue, 24 Nov 2026
/// 01:22:08 GMT`.
///
/// A golden contract has templates such as `{{date+30d}}` for ISO 8601 dates, but none for other
/// formats. Such dates depend on the day of the recording, so matchers replace them.
enum DateSpans {
    private enum TokenKind {
        case year, dayOrMonth, otherNumber, monthName, dayName, filler, punctuation, otherWord
    }

    private struct Token {
        let tokenKind: TokenKind
        let range: Range<String.Index>
    }

    private static let monthNames: Set<String> = [
        "jan", "january", "feb", "february", "mar", "march", "apr", "april", "may", "jun", "june",
        "jul", "july", "aug", "august", "sep", "sept", "september", "oct", "october", "nov",
        "november", "dec", "december",
    ]
    private static let dayNames: Set<String> = [
        "mon", "monday", "tue", "tues", "tuesday", "wed", "wednesday", "thu", "thur", "thurs",
        "thursday", "fri", "friday", "sat", "saturday", "sun", "sunday",
    ]
    /// Words that may appear between the parts of a date and its time.
    private static let fillerWords: Set<String> = [
        "t", "z", "gmt", "utc", "am", "pm", "st", "nd", "rd", "th", "at", "of",
    ]

    /// Returns the ranges of the dates in a string, in order.
    ///
    /// A date counts only when its year is at most five years from the given year.
    static func all(in text: String, around year: Int) -> [Range<String.Index>] {
        guard hasYear(text.utf8) else { return [] }
        var results: [Range<String.Index>] = []
        var tokenRun: [Token] = []
        for token in tokens(of: text, around: year) {
            if token.tokenKind == .otherWord {
                if let range = span(of: tokenRun) { results.append(range) }
                tokenRun = []
            } else {
                tokenRun.append(token)
            }
        }
        if let range = span(of: tokenRun) { results.append(range) }
        return results
    }

    /// Returns a string with every date replaced by a word, such as a matcher.
    static func replaced(in text: String, around year: Int, by word: String) -> String {
        let spans = all(in: text, around: year)
        guard !spans.isEmpty else { return text }
        var output = ""
        var uncopiedStart = text.startIndex
        for span in spans {
            output += text[uncopiedStart..<span.lowerBound] + word
            uncopiedStart = span.upperBound
        }
        return output + text[uncopiedStart...]
    }

    /// Returns whether a string contains four digits that could be a year of this century, such as
    /// 2026.
    ///
    /// This quick check rules out most strings.
    private static func hasYear(_ bytes: String.UTF8View) -> Bool {
        var matchedDigitCount = 0
        for byte in bytes {
            let isDigit = (48...57).contains(byte)
            switch matchedDigitCount {
            case 1 where byte == UInt8(ascii: "0"): matchedDigitCount = 2
            case 2 where isDigit: matchedDigitCount = 3
            case 3 where isDigit: return true
            default: matchedDigitCount = byte == UInt8(ascii: "2") ? 1 : 0
            }
        }
        return false
    }

    private static func tokens(of text: String, around year: Int) -> [Token] {
        var results: [Token] = []
        var remainingText = text[...]
        while let first = remainingText.first {
            let digits = remainingText.prefix { $0.isASCII && $0.isNumber }
            let letters = remainingText.prefix(while: \.isLetter)
            let tokenLength = max(1, digits.count, letters.count)
            let tokenEnd = remainingText.index(remainingText.startIndex, offsetBy: tokenLength)
            let tokenKind: TokenKind
            if !digits.isEmpty {
                let number = Int(digits) ?? .max
                let isYear = digits.count == 4 && (year - 5...year + 5).contains(number)
                tokenKind =
                    isYear ? .year : digits.count <= 2 && number <= 31 ? .dayOrMonth : .otherNumber
            } else if !letters.isEmpty {
                let word = letters.lowercased()
                tokenKind =
                    monthNames.contains(word)
                    ? .monthName
                    : dayNames.contains(word)
                        ? .dayName : fillerWords.contains(word) ? .filler : .otherWord
            } else {
                tokenKind = " ,:-/.+".contains(first) ? .punctuation : .otherWord
            }
            results.append(Token(tokenKind: tokenKind, range: remainingText.startIndex..<tokenEnd))
            remainingText = remainingText[tokenEnd...]
        }
        return results
    }

    /// Returns the range of the date in a sequence of tokens, without separators around it; nil
    /// when the sequence is not a date.
    private static func span(of tokenRun: [Token]) -> Range<String.Index>? {
        var dateTokens = tokenRun[...]
        while let first = dateTokens.first,
            first.tokenKind == .punctuation || first.tokenKind == .filler
        {
            dateTokens = dateTokens.dropFirst()
        }
        while dateTokens.last?.tokenKind == .punctuation { dateTokens = dateTokens.dropLast() }
        func count(_ tokenKind: TokenKind) -> Int { dateTokens.count { $0.tokenKind == tokenKind } }
        guard let first = dateTokens.first, let last = dateTokens.last, count(.year) >= 1 else {
            return nil
        }
        let hasNamedMonth = count(.monthName) == 1 && count(.dayOrMonth) >= 1
        let hasNumericMonth = count(.monthName) == 0 && count(.dayOrMonth) >= 2
        guard hasNamedMonth || hasNumericMonth, count(.punctuation) >= 2 else { return nil }
        return first.range.lowerBound..<last.range.upperBound
    }
}
