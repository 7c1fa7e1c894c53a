# Writes beside each file of FOLDER its .md5 and .sha1, as Maven repositories have them.
file(GLOB artefacts ${FOLDER}/*)
foreach(artefact ${artefacts})
  foreach(kind MD5 SHA1)
    file(${kind} ${artefact} sum)
    string(TOLOWER ${kind} suffix)
    file(WRITE ${artefact}.${suffix} ${sum})
  endforeach()
endforeach()
