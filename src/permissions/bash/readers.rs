//! The commands that only read and print, with their permitted flags.

use super::everyday::EVERYDAY;
use super::flags::Flags;
use super::lists::Lists;

/// A command that is read-only with all its permitted flags and operands.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    /// Its names, separated by blanks.
    names: &'static str,
    pub flags: Flags,
    pub operands: Operands,
    pub globs: Globs,
}

/// What the operands of a command are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operands {
    None,
    Data,
    Paths,
    /// A second one would be written.
    OnePath,
    /// The first is a pattern, unless a flag gives it.
    PatternThenPaths,
}

/// Whether an unquoted glob is harmless. It may expand to a flag, so every flag of the program must be read-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Globs {
    Harmless,
    Refused,
}

pub(super) const fn reader(names: &'static str, flags: Flags, operands: Operands) -> Reader {
    Reader {
        names,
        flags,
        operands,
        globs: Globs::Harmless,
    }
}

/// For programs with a flag that writes or runs something.
pub(super) const fn strict(names: &'static str, flags: Flags, operands: Operands) -> Reader {
    Reader {
        names,
        flags,
        operands,
        globs: Globs::Refused,
    }
}

/// The reader of this name. Commands with a grammar of their own (find, sed, git, jq, ps, xxd, test) are not here.
pub fn reader_named(name: &str, lists: Lists) -> Option<Reader> {
    listed(AGREED, name).or_else(|| match lists {
        Lists::Agreed => None,
        Lists::Everyday => listed(EVERYDAY, name),
    })
}

fn listed(list: &[Reader], name: &str) -> Option<Reader> {
    let is_named = |reader: &&Reader| reader.names.split(' ').any(|other| other == name);
    list.iter().find(is_named).copied()
}

/// The agreed list.
const AGREED: &[Reader] = {
    use Operands::{Data, None, OnePath, Paths, PatternThenPaths};
    &[
        reader(
            "ls",
            Flags::new(
                "aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1",
                "all almost-all author escape block-size= ignore-backups color? directory dired classify? file-type \
                 format= full-time group-directories-first no-group human-readable si dereference-command-line \
                 dereference-command-line-symlink-to-dir hide= hyperlink? indicator-style= inode ignore= kibibytes \
                 dereference numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= \
                 reverse recursive size sort= time= time-style= tabsize= width= context zero help version",
            ),
            Paths,
        ),
        reader(
            "cat",
            Flags::new(
                "AbeEnstTuv",
                "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting help version",
            ),
            Paths,
        ),
        // tail without -f and similar flags: the call has to end.
        reader(
            "head tail",
            Flags::with_numbers(
                "c:n:qvz",
                "bytes= lines= quiet silent verbose zero-terminated help version",
            ),
            Paths,
        ),
        reader(
            "wc",
            Flags::new(
                "cmlLw",
                "bytes chars lines max-line-length words total= help version",
            ),
            Paths,
        ),
        reader(
            "nl",
            Flags::new(
                "b:d:f:h:i:l:n:ps:v:w:",
                "body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment= \
                 join-blank-lines= number-format= no-renumber number-separator= starting-line-number= number-width= help \
                 version",
            ),
            Paths,
        ),
        reader(
            "tac",
            Flags::new("brs:", "before regex separator= help version"),
            Paths,
        ),
        reader("rev", Flags::new("hV", "help version"), Paths),
        reader(
            "stat",
            Flags::new(
                "Lfc:t",
                "dereference file-system cached= format= printf= terse help version",
            ),
            Paths,
        ),
        strict(
            "file",
            Flags::new(
                "bE0F:e:hikLnNrv",
                "brief mime mime-type mime-encoding extension keep-going dereference no-dereference no-buffer no-pad raw \
                 print0 separator= exclude= apple help version",
            ),
            Paths,
        ),
        reader(
            "du",
            Flags::new(
                "0aB:bcDd:HhklLmPSst:xX/",
                "null all apparent-size block-size= bytes total dereference-args max-depth= human-readable inodes \
                 count-links dereference no-dereference separate-dirs si summarize threshold= time? time-style= \
                 one-file-system exclude= exclude-from/ help version",
            ),
            Paths,
        ),
        reader(
            "df",
            Flags::new(
                "aB:hHiklPTt:vx:",
                "all block-size= human-readable si inodes local no-sync output? portability total type= print-type \
                 exclude-type= help version",
            ),
            Paths,
        ),
        strict("pwd", Flags::new("LP", ""), None),
        reader(
            "basename",
            Flags::new("as:z", "multiple suffix= zero help version"),
            Data,
        ),
        reader("dirname", Flags::new("z", "zero help version"), Data),
        reader(
            "realpath",
            Flags::new(
                "eEmLPqsz",
                "canonicalize canonicalize-existing canonicalize-missing logical physical quiet relative-to/ \
                 relative-base/ strip no-symlinks zero help version",
            ),
            Paths,
        ),
        reader(
            "readlink",
            Flags::new(
                "femnqsvz",
                "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero help \
                 version",
            ),
            Paths,
        ),
        reader("which", Flags::new("as", "all"), Data),
        reader("type", Flags::new("afptP", ""), Data),
        strict("whoami", Flags::new("", "help version"), None),
        reader(
            "id",
            Flags::new(
                "agGnruzZ",
                "context group groups name real user zero help version",
            ),
            Data,
        ),
        strict(
            "uname",
            Flags::new(
                "asnrvmpio",
                "all kernel-name nodename kernel-release kernel-version machine processor hardware-platform \
                 operating-system help version",
            ),
            None,
        ),
        strict(
            "uptime",
            Flags::new("psh", "pretty since help version"),
            None,
        ),
        strict("nproc", Flags::new("", "all ignore= help version"), None),
        // Its flags use the network, its operand sets the host name.
        strict("hostname", Flags::NONE, None),
        reader("true false", Flags::NONE, Data),
        reader(
            "grep egrep fgrep",
            Flags::with_numbers(
                "A:abB:C:cd:D:Ee:Ff/GHhIiLlm:noPqRrsTUuvVwxyZz",
                "extended-regexp fixed-strings basic-regexp perl-regexp regexp= file/ ignore-case no-ignore-case \
                 invert-match word-regexp line-regexp count color? colour? files-without-match files-with-matches \
                 max-count= only-matching quiet silent no-messages byte-offset with-filename no-filename label= \
                 line-number initial-tab null after-context= before-context= context= group-separator= \
                 no-group-separator text binary-files= devices= directories= exclude= exclude-from/ exclude-dir= include= \
                 recursive dereference-recursive line-buffered binary null-data unix-byte-offsets help version",
            ),
            PatternThenPaths,
        ),
        strict(
            "rg",
            Flags::new(
                "0A:aB:bC:cd:E:e:Ff/g:HhIij:LlM:m:NnoPpqr:SsT:t:UuVvwx.",
                "after-context= auto-hybrid-regex before-context= binary block-buffered byte-offset case-sensitive color= \
                 colors= column context= context-separator= count count-matches crlf dfa-size-limit= encoding= engine= \
                 field-context-separator= field-match-separator= file/ files files-with-matches files-without-match \
                 fixed-strings follow glob= glob-case-insensitive heading hidden iglob= ignore-case ignore-file/ \
                 ignore-file-case-insensitive include-zero invert-match json line-buffered line-number line-regexp \
                 max-columns= max-columns-preview max-count= max-depth= maxdepth= max-filesize= mmap multiline \
                 multiline-dotall no-binary no-block-buffered no-column no-config no-context-separator no-crlf \
                 no-encoding no-filename no-fixed-strings no-follow no-glob-case-insensitive no-heading no-hidden \
                 no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global no-ignore-messages \
                 no-ignore-parent no-ignore-vcs no-invert-match no-json no-line-buffered no-line-number \
                 no-max-columns-preview no-messages no-mmap no-multiline no-one-file-system no-pcre2 no-require-git \
                 no-search-zip no-sort-files no-stats no-text no-trim no-unicode null null-data one-file-system \
                 only-matching passthru path-separator= pcre2 pcre2-version pretty quiet regex-size-limit= regexp= \
                 replace= require-git smart-case sort= sortr= stats stop-on-nonmatch text threads= trim type= type-add= \
                 type-clear= type-list type-not= unicode unrestricted version vimgrep with-filename word-regexp help",
            ),
            PatternThenPaths,
        ),
        // Without -l: it starts `pr`.
        strict(
            "diff",
            Flags::new(
                "qscC:uU:enyW:pF:tTrNx:X/iEZbwBI:aD:dL:",
                "normal brief report-identical-files context? unified? ed rcs side-by-side width= left-column \
                 suppress-common-lines show-c-function show-function-line= label= expand-tabs initial-tab tabsize= \
                 suppress-blank-empty recursive no-dereference new-file unidirectional-new-file ignore-file-name-case \
                 no-ignore-file-name-case exclude= exclude-from/ starting-file= from-file/ to-file/ ignore-case \
                 ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines \
                 ignore-matching-lines= text strip-trailing-cr ifdef= minimal horizon-lines= speed-large-files color? \
                 help version",
            ),
            Paths,
        ),
        reader(
            "cmp",
            Flags::new(
                "bi:ln:s",
                "print-bytes ignore-initial= verbose bytes= quiet silent help version",
            ),
            Paths,
        ),
        reader(
            "comm",
            Flags::new(
                "123z",
                "check-order nocheck-order output-delimiter= total zero-terminated help version",
            ),
            Paths,
        ),
        strict(
            "sort",
            Flags::new(
                "bcCdfghik:mMnrRsS:t:uVz",
                "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort \
                 human-numeric-sort numeric-sort random-sort reverse sort= version-sort batch-size= check? key= merge \
                 stable buffer-size= field-separator= parallel= unique zero-terminated debug help version",
            ),
            Paths,
        ),
        strict(
            "uniq",
            Flags::new(
                "cdDf:is:uw:z",
                "count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique zero-terminated \
                 check-chars= help version",
            ),
            OnePath,
        ),
        reader(
            "cut",
            Flags::new(
                "b:c:d:f:nsz",
                "bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated help \
                 version",
            ),
            Paths,
        ),
        reader(
            "tr",
            Flags::new(
                "cCdst",
                "complement delete squeeze-repeats truncate-set1 help version",
            ),
            Data,
        ),
        reader(
            "paste",
            Flags::new("d:sz", "delimiters= serial zero-terminated help version"),
            Paths,
        ),
        reader(
            "column",
            Flags::new(
                "c:eE:H:JLl:n:N:o:O:r:R:s:tT:W:xdm",
                "columns= table separator= output-separator= table-columns= table-right= table-noextreme= table-wrap= \
                 table-hide= table-order= table-name= table-truncate= table-noheadings table-empty-lines \
                 table-columns-limit= json output-width= fillrows keep-empty-lines help version",
            ),
            Paths,
        ),
        reader(
            "fold",
            Flags::with_numbers("bsw:", "bytes spaces width= help version"),
            Paths,
        ),
        reader(
            "od",
            Flags::new(
                "A:j:N:S:t:vw?abcdfhilosx",
                "address-radix= endian= skip-bytes= read-bytes= strings? format= output-duplicates width? traditional \
                 help version",
            ),
            Paths,
        ),
        // Without -f: the widths in that file are not known.
        reader(
            "hexdump",
            Flags::new(
                "bcCde:n:os:vx",
                "one-byte-octal one-byte-char canonical two-bytes-decimal two-bytes-octal two-bytes-hex format= \
                 length= skip= no-squeezing help version",
            ),
            Paths,
        ),
        reader(
            "strings",
            Flags::with_numbers(
                "adfn:t:e:os:wU:",
                "all data print-file-name bytes= radix= encoding= output-separator= include-all-whitespace unicode= help \
                 version",
            ),
            Paths,
        ),
        // Without -c, which opens every file named in a list.
        reader(
            "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum",
            Flags::new("btz", "binary tag text zero help version"),
            Paths,
        ),
        // Without -o and -R, which writes 00Tree.html.
        strict(
            "tree",
            Flags::new(
                "adflxL;P;I;qNQpugshDFvtcUrnCAiSJX",
                "dirsfirst filesfirst filelimit= noreport prune du si inodes device timefmt= sort? gitignore ignore-case \
                 matchdirs charset= metafirst info fflinks help version",
            ),
            Paths,
        ),
        // -I with an attached format; +FORMAT is checked by the caller.
        strict(
            "date",
            Flags::new("uRI?", "utc universal rfc-email iso-8601?"),
            Data,
        ),
        strict(
            "seq",
            Flags::with_numbers("f:s:w", "format= separator= equal-width help version"),
            Data,
        ),
    ]
};
