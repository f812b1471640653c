internal import Conformance

/// What a campaign plays: a life of people and their purchases, or of an app on a phone.
package enum Story: Hashable, Sendable {
    case people(Life)
    case phone(PhoneLife)

    package var title: String {
        switch self {
        case .people(let life): life.title
        case .phone(let life): life.title
        }
    }

    /// A name for it that is the same wherever it was found, and another for each cause.
    package func id(_ cause: LifeCause) -> String {
        switch self {
        case .people(let life): life.storyID(cause)
        case .phone(let life): life.storyID(cause)
        }
    }

    /// Six digits that are the same for the same text.
    static func digits(of text: String) -> String {
        var generator = SeededGenerator(seed: 0, text: text)
        let digits = String(generator.next() % (1 << 24), radix: 16)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// How many things happen in it.
    package var size: Int {
        switch self {
        case .people(let life): life.eventCount
        case .phone(let life): life.steps.count
        }
    }

    /// With less in it, the smallest first.
    package var shorter: [Story] {
        switch self {
        case .people(let life): life.shorter.map(Story.people)
        case .phone(let life): life.shorter.map(Story.phone)
        }
    }

    /// As much happens, and less particularly.
    package var plainer: [Story] {
        switch self {
        case .people(let life): life.plainer.map(Story.people)
        // What is left out of a phone's step makes it shorter already.
        case .phone: []
        }
    }

    /// The life of people; nil: it is a phone's.
    package var life: Life? {
        if case .people(let life) = self { life } else { nil }
    }

    /// The life of a phone; nil: it is one of people.
    package var phone: PhoneLife? {
        if case .phone(let life) = self { life } else { nil }
    }

    /// Whether all that happens in the other one happens here as well, in that order.
    package func contains(_ other: Story) -> Bool {
        switch (self, other) {
        case (.people(let mine), .people(let theirs)): mine.contains(theirs)
        case (.phone(let mine), .phone(let theirs)): mine.contains(theirs)
        case (.people, .phone), (.phone, .people): false
        }
    }
}
