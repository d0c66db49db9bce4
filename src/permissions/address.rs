//! Which addresses are not on the open net: what runs there was not made for strangers, so fetching it asks. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where an address leads, if not to the open net.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inner {
    ThisMachine,
    LocalNetwork,
    /// Neighbours on the same wire; servers of clouds keep credentials at such an address.
    LinkLocal,
    /// Not an address that a page can have.
    Reserved,
}

impl Inner {
    pub fn words(self) -> &'static str {
        match self {
            Self::ThisMachine => "an address of this machine",
            Self::LocalNetwork => "an address of a private network",
            Self::LinkLocal => "a link-local address",
            Self::Reserved => "a reserved address",
        }
    }

    /// Where an address leads, however it is written; `None` for the open net.
    pub fn of(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Option<Self> {
        let [first, second, third, _] = address.octets();
        if address.is_loopback() || first == 0 {
            Some(Self::ThisMachine)
        } else if address.is_link_local() {
            Some(Self::LinkLocal)
        } else if address.is_private() || (first == 100 && second & 0xc0 == 64) {
            Some(Self::LocalNetwork)
        } else if address.is_multicast()
            || first >= 240
            || (first == 198 && second & 0xfe == 18)
            || (first == 192 && second == 0 && third == 0)
        {
            Some(Self::Reserved)
        } else {
            None
        }
    }

    fn of_v6(address: Ipv6Addr) -> Option<Self> {
        if address.is_loopback() || address.is_unspecified() {
            return Some(Self::ThisMachine);
        }
        let parts = address.segments();
        // Addresses of the older kind in the clothes of the newer one.
        let embedded = match parts {
            [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
            | [0, 0, 0, 0, 0xffff, 0, high, low]
            | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
            | [0x2002, high, low, ..] => Some((high, low)),
            _ => None,
        };
        if let Some((high, low)) = embedded {
            let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
            return Self::of_v4(Ipv4Addr::new(a, b, c, d));
        }
        match parts[0] {
            first if first & 0xffc0 == 0xfe80 => Some(Self::LinkLocal),
            first if first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfec0 => {
                Some(Self::LocalNetwork)
            }
            first if first & 0xff00 == 0xff00 => Some(Self::Reserved),
            _ => None,
        }
    }

    /// What can be told from the name alone, without asking anybody for its address.
    pub fn of_host(host: &str) -> Option<Self> {
        let host = host.trim_end_matches('.');
        let literal = host.trim_matches(['[', ']']).parse::<IpAddr>();
        if let Ok(address) = literal {
            return Self::of(address);
        }
        let host = host.to_ascii_lowercase();
        let is = |name: &str| host == name || host.ends_with(&format!(".{name}"));
        if is("localhost") {
            Some(Self::ThisMachine)
        } else if is("local")
            || is("internal")
            || is("lan")
            || is("home.arpa")
            || !host.contains('.')
        {
            Some(Self::LocalNetwork)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use reqwest::Url;

    use super::Inner;

    fn of(url: &str) -> Option<Inner> {
        Inner::of_host(Url::parse(url).expect("a URL").host_str().expect("a host"))
    }

    #[test]
    fn addresses_of_this_machine_are_known_however_they_are_written() {
        for url in [
            "http://127.0.0.1/",
            "http://127.1:8080/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://0/",
            "http://localhost./",
            "http://a.LOCALHOST/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::127.0.0.1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://[2002:7f00:1::]/",
            "http://①②⑦.⓪.⓪.①/",
            "http://user@127.0.0.1\\@example.com/",
        ] {
            assert_eq!(of(url), Some(Inner::ThisMachine), "{url}");
        }
    }

    #[test]
    fn private_and_link_local_addresses_are_known() {
        for url in [
            "http://10.1.2.3/",
            "http://172.16.0.1/",
            "http://192.168.1.1/",
            "http://100.64.0.1/",
            "http://[fd00::1]/",
            "http://printer/",
            "http://nas.local/",
            "http://metadata.google.internal/",
        ] {
            assert_eq!(of(url), Some(Inner::LocalNetwork), "{url}");
        }
        for url in [
            "http://169.254.169.254/latest",
            "http://[fe80::1]/",
            "http://[::ffff:a9fe:a9fe]/",
        ] {
            assert_eq!(of(url), Some(Inner::LinkLocal), "{url}");
        }
        for url in [
            "http://224.0.0.1/",
            "http://255.255.255.255/",
            "http://[ff02::1]/",
        ] {
            assert_eq!(of(url), Some(Inner::Reserved), "{url}");
        }
    }

    #[test]
    fn the_open_net_needs_no_question_of_its_own() {
        for url in [
            "https://example.com/",
            "https://1.1.1.1/",
            "https://172.32.0.1/",
            "https://[2606:4700::1111]/",
            "https://localhost.example.com/",
        ] {
            assert_eq!(of(url), None, "{url}");
        }
    }
}
