# What ahpd has an interactive fish read after the person's configuration: fish marks its prompts
# and commands (OSC 133), says each command line (OSC 633;E) and its folder (OSC 7).
#
# Nothing here is exported, and fish_prompt is left alone. A fish that marks by itself, from 4.0
# on, says its folder alone here.

function __ahpd_say
    builtin printf '\e]%s\a' $argv[1]
end

# Whether this fish, or somebody else, marks this shell's prompts already.
function __ahpd_is_marked
    if string match -qr '^([4-9]|[1-9][0-9])' -- $version
        and not string match -q 'mark-prompt*off*' -- (status features)
        return 0
    end
    for handler in (functions --handlers-type generic | string match -r '\S+$')
        functions -- $handler | string match -qr '\][16]33;'; and return 0
    end
    functions -- fish_prompt | string match -qr '\][16]33;'
end

function __ahpd_folder --on-event fish_prompt
    __ahpd_say 7\;file://(string escape --style=url -- $PWD)
end

if not __ahpd_is_marked
    function __ahpd_prompt --on-event fish_prompt
        __ahpd_say '133;A'
    end

    function __ahpd_executed --on-event fish_preexec
        set -l lines (string split \n -- $argv[1])
        set lines (string replace -a \\ \\\\ -- $lines)
        set lines (string replace -a \; '\x3b' -- $lines)
        set lines (string replace -a \t '\x09' -- $lines)
        set lines (string replace -ar '[\x00-\x1f\x7f]' '' -- $lines)
        set -l line (string join '\x0a' -- $lines)
        if test (string length -- "$line") -le 8192
            __ahpd_say "633;E;$line"
        end
        __ahpd_say '133;C'
    end

    function __ahpd_finished --on-event fish_postexec
        __ahpd_say "133;D;$status"
    end
end
functions -e __ahpd_is_marked
