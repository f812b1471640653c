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

    /// How many things happen in it.
    package var size: Int {
        switch self {
        case .people(let life): life.eventCount
        case .phone(let life): life.steps.count
        }
    }

    /// The life of people; nil: it is a phone's.
    package var life: Life? {
        if case .people(let life) = self { life } else { nil }
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
