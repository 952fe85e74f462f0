"""Labelled questions about the manuals and READMEs of Debian."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

FAST, HYBRID, PAGES, WEB, ANSWER = (
    *("fast_vector_search", "hybrid_search", "colqwen_search", "web_search", "text_response"),
)


@dataclass(frozen=True)
class Labelled:
    """A question with the tool that is right for it."""

    text: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Its arguments, if they are unambiguous. Upper and lower case are equal."""
    earlier: Sequence[str] = ()
    """The turns before it: the user's and the assistant's alternately, the user's first."""


_BY_TOOL: Mapping[str, str] = {
    FAST: """
What is a virtual package?
What does dpkg --configure do?
Which directory holds the configuration of apt?
What is the default editor that base-files names?
Define pseudo-essential package
Who wrote the README of adduser?
What is the epoch of a version number?
How many priorities does a package have?
Which port does the git daemon listen on?
What does the conffile mechanism mean?
When was dash made the default shell?
What is the meaning of the suffix +deb12u1?
Which command reconfigures a package?
What is the maximum length of a user name in adduser?
Where is the changelog of a package kept?
What does the option --no-install-recommends do?
Which file lists the mirrors of apt?
What is debconf?
What is the UID of the user nobody?
How much disk space does a minimal installation need?
Which field names the maintainer of a package?
What is the name of the archive keyring package?
Which version of bash does the README describe?
What are alternatives in Debian?
Tell me the licence of bzip2
The default umask of new users
Name the format of a .deb file
Path of the log of dpkg
Which shell does the user root get?
Which signal reloads dbus?
""",
    HYBRID: """
Which exit codes does dpkg-query return?
List the options of apt-mark in a table
Compare the compression levels of xz and gzip
What is in the boot menu of the installer?
Show the table of file permissions for sudoers
Which columns does ls -l print?
Technical specifications of the ext4 file system
List of the debconf priorities and what each asks
How do I move a system from one disk to another without losing what is configured?
Why does apt keep a package back although a newer one is there?
How do the maintainer scripts run when an upgrade fails halfway?
What should I check before I upgrade from bullseye to bookworm on a server?
My system hangs after grub, how do I find the reason?
Explain how pinning and default releases work together
Which packages break if I remove python3, and how do I get out of it?
How can several people share one git repository safely over ssh?
Why is my locale not used after I set it?
How do sysvinit scripts and systemd units get along?
What happens to configuration files when I purge a package and install it again?
How do I rebuild a package with a patch and keep it from being upgraded?
Menu of the partitioner with all of its entries
Error codes of curl
Which parameters does preseeding know for the network?
How does fakeroot pretend to be root while a package is built?
Steps to make a chroot and build in it
Difference between dist-upgrade and upgrade in risky situations
The installer finds no network card, what can I try?
Troubleshoot a held lock of dpkg
Set up a mirror for a class room with little bandwidth
Which fault codes does smartd report and what do they mean?
""",
    PAGES: """
Show me the diagram of the boot process
Which figure shows the layout of the partitions?
Find the screenshot of the language chooser
Where is the schematic of the package states?
Is there a drawing of the file system hierarchy?
The picture of the first screen of the installer
I need the flowchart of the maintainer scripts
Which page has an illustration of RAID levels?
Show the chart of the release cycle
What does the partitioner look like?
Find the graph of package dependencies
The figure about logical volumes, please
Image of the keyboard layout chooser
On which page is the network topology drawn?
Show a photo of the board with its serial port
Visual overview of the archive structure
Which diagram explains how apt resolves dependencies?
Sketch of the memory map
The screenshot with the software selection
Is there a figure for the signing of packages?
Show how the desktop looks like after the installation
Find the wiring diagram of the serial console
Picture of the partition sizes
Illustration of the key exchange of ssh
Where can I see the process of a bug report drawn?
The chart with the sizes of the architectures
Diagrams about the mirror network
Display the figure of the cache hierarchy
Look for an image of the grub screen
Which drawing shows the jumper settings?
""",
    WEB: """
What is the newest security advisory of this week?
Is deb.debian.org down right now?
Who is the current Debian project leader?
What did people say about bookworm in the news?
When will the next release come out?
Find recent blog posts about reproducible builds
What does a Thinkpad with Debian cost today?
Latest version of the kernel on kernel.org
Is there a talk about Debian in Barcelona next month?
Search the internet for reviews of GNOME 48
Which bugs were reported yesterday?
What is the weather in Girona?
Who won the last election of the technical committee?
News about the xz backdoor
Forum threads about my graphics card
""",
    ANSWER: """
Hello
Hi there!
Good morning
Thanks a lot
Bon dia!
Hola
How are you?
Thank you very much
Bye
Guten Tag
Hello, how are you?
Ok, thanks
Merci
Buenos días
Good evening
""",
}
ROUTING = tuple(
    Labelled(line, tool) for tool, text in _BY_TOOL.items() for line in text.strip().splitlines()
)


def _word(tool: str, name: str, pairs: str) -> tuple[Labelled, ...]:
    lines = (line.rsplit(" = ", 1) for line in pairs.strip().splitlines())
    return tuple(Labelled(text, tool, {name: value}) for text, value in lines)


THREE = (
    *_word(
        "show_package",
        "package",
        """
What version of nginx do I have? = nginx
Tell me about the package curl = curl
Is vim installed? = vim
How big is the package gimp? = gimp
Who maintains openssh-server? = openssh-server
Describe rsync = rsync
Which version of postgresql is there? = postgresql
Is there a package called htop? = htop
Give me the details of libc6 = libc6
What does the package jq depend on? = jq
""",
    ),
    *_word(
        "read_manual_page",
        "page",
        """
Open the manual page of tar = tar
I want to read man crontab = crontab
Show the man page for sshd_config = sshd_config
What does the manual say about chmod? = chmod
Read me the manual of grep = grep
Manual page of systemctl, please = systemctl
Let me see the man page of awk = awk
Look up mount in the manual pages = mount
Could you open man fstab? = fstab
The manual of useradd = useradd
""",
    ),
    *_word(
        "report_bug",
        "package",
        """
firefox crashes when I print, report it = firefox
Please file a bug against grub2: it hangs = grub2
I found a mistake in bash, tell the maintainers = bash
Report that cups does not find my printer = cups
Send a bug report, evince shows empty pages = evince
File a bug: samba loses files = samba
Tell the maintainer that mutt eats my mail = mutt
There is a fault in gparted, open a ticket = gparted
Complain about network-manager, it never reconnects = network-manager
Submit a bug about pulseaudio, no sound = pulseaudio
""",
    ),
)
